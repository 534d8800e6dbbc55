"""What a request's `tool_choice` asks of the reply, in any of its forms."""

from __future__ import annotations

from replayer.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """`call`: a call must come. `names`: it must be one of these; empty allows every tool."""

    call: bool = False
    names: frozenset[str] = frozenset()
    message: str = ""


def demanded(tool_choice: object) -> Demand:
    """The demand of `"required"`, of a named tool, or of `allowed_tools`; anything else demands nothing."""
    if tool_choice in ("required", "any"):
        return Demand(True, message="a call (tool_choice 'required')")
    if not isinstance(tool_choice, dict):
        return Demand()
    if tool_choice.get("type") == "allowed_tools":
        inner = tool_choice.get("allowed_tools")
        inner = inner if isinstance(inner, dict) else tool_choice
        tools = inner.get("tools")
        names = frozenset(filter(None, map(_name, tools if isinstance(tools, list) else ())))
        return Demand(inner.get("mode") == "required", names, f"one of {', '.join(sorted(names))}")
    name = _name(tool_choice)
    return Demand(True, frozenset({name}), f"the tool {name!r}") if name else Demand()


def _name(tool: object) -> str | None:
    if not isinstance(tool, dict):
        return None
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else tool.get("name")
    return name if isinstance(name, str) else None
