"""Applies a fault to a reply: what the model or the engine's parser would have made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import orjson

from replayer.simulated.call_families import FAMILIES
from replayer.simulated.planted import FaultSpec
from replayer.simulated.replies import Call, Reply, sample
from replayer.wire.types import JsonObject

COLLAPSE_UNIT = "(Sigh) (Laughter) "


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault may look at: the request, how it is answered, and the request's own seeded dice."""

    body: JsonObject
    rng: Random
    fault: FaultSpec

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    def form(self, *choices: str) -> str:
        return self.fault.keys.get("form") or self.rng.choice(choices)

    def schema(self, call: Call) -> JsonObject:
        for tool in self.body.get("tools") or ():
            function = tool.get("function") or {}
            if function.get("name") == call.name:
                return function.get("parameters") or {}
        return {}


Change = Callable[..., bool | None]
"""Changes a reply, or a part of it, in place; False where the fault cannot befall it."""


def distort(reply: Reply, scene: Scene) -> bool:
    """Change `reply` in place; False when the fault cannot befall it (a call fault without a call)."""
    return FAULTS[scene.fault.klass](reply, scene) is not False


def _with_calls(change: Change, streamed: bool = False) -> Change:
    """A fault that befalls each reply with a call, or those of them that are streamed."""
    return lambda reply, scene: bool(
        reply.calls and (scene.stream or not streamed) and change(reply, scene) is not False
    )


def _on_call(change: Change) -> Change:
    return _with_calls(lambda reply, scene: change(scene.rng.choice(reply.calls), scene))


def _not_json(call: Call, scene: Scene) -> None:
    """Forms seen in the field: a lost brace, a stray quote (`tool-auto-forced-badjson-*`), a comma, NaN."""
    text = call.arguments.rstrip()
    match scene.form("lost_brace", "stray_quote", "trailing_comma", "nan", "duplicate_key"):
        case "stray_quote" if '"}' in text or '" }' in text:
            call.arguments = _with_stray_quote(text)
        case "trailing_comma":
            call.arguments = text[:-1] + ",}"
        case "nan":
            call.arguments = '{"line": NaN' + ("," + text[1:] if len(text) > 2 else "}")
        case "duplicate_key":
            call.arguments = '{"path": "a", "path": "b"}'
        case _:
            call.arguments = text[:-1]


def _with_stray_quote(arguments: str) -> str:
    return arguments.rstrip().rstrip("}").rstrip() + 'oops" }'


def _not_object(call: Call, scene: Scene) -> None:
    forms = {"string": orjson.dumps(call.arguments).decode(), "list": f"[{call.arguments}]", "null": "null"}
    call.arguments = forms.get(scene.form(*forms), "null")


def _edit(change: Change) -> Change:
    """A fault inside the arguments of one call whose arguments are an object."""

    def apply(call: Call, scene: Scene) -> bool:
        try:
            values = orjson.loads(call.arguments)
        except orjson.JSONDecodeError:
            return False
        if not isinstance(values, dict) or change(values, scene.schema(call), scene) is False:
            return False
        call.arguments = orjson.dumps(values).decode()
        return True

    return _on_call(apply)


def _missing(values: JsonObject, schema: JsonObject, scene: Scene) -> bool:
    present = [name for name in schema.get("required") or values if name in values]
    if present:
        del values[scene.rng.choice(present)]
    return bool(present)


def _wrong_type(values: JsonObject, schema: JsonObject, scene: Scene) -> bool:
    typed = [name for name in values if "type" in (schema.get("properties") or {}).get(name, {})]
    if not typed:
        return False
    name = scene.rng.choice(typed)
    values[name] = [values[name]] if isinstance(values[name], str) else str(values[name])
    return True


def _bad_value(values: JsonObject, schema: JsonObject, scene: Scene) -> bool:
    for name, rule in (schema.get("properties") or {}).items():
        if "enum" in rule:
            values[name] = "no-such-choice"
        elif "minimum" in rule:
            values[name] = rule["minimum"] - 1
        elif "maximum" in rule:
            values[name] = rule["maximum"] + 1
        elif "pattern" in rule:
            values[name] = "\u0000"
        else:
            continue
        return True
    return False


def _unexpected(values: JsonObject, schema: JsonObject, scene: Scene) -> None:
    values["verbose_mode"] = True


def _swallowed(values: JsonObject, schema: JsonObject, scene: Scene) -> bool:
    """As a parser that misses an end tag: a parameter stands with its markup in the text of its neighbour."""
    holder = _text_in(values)
    known = schema.get("properties") or {}
    lost = next((name for name in (*values, *known) if name in known and name != holder), None)
    if holder is None or lost is None:
        return False
    values[holder] += f"\n</parameter>\n<parameter={lost}>\n{values.pop(lost, 1)}"
    return True


def _damaged(values: JsonObject, schema: JsonObject, scene: Scene) -> bool:
    """UTF-8 that the detokenizer encoded twice."""
    holder = _text_in(values)
    if holder is not None:
        values[holder] += " cafÃ©"
    return holder is not None


def _text_in(values: JsonObject) -> str | None:
    return next((name for name, value in values.items() if isinstance(value, str)), None)


def _unknown_tool(call: Call, scene: Scene) -> None:
    call.name += scene.rng.choice(("_v2", "_file", "s"))


def _leaked(reply: Reply, scene: Scene) -> None:
    reply.content += _as_markup(reply, scene)
    if scene.fault.keys.get("keep_call") not in {"1", "true", "yes"}:
        reply.calls, reply.finish = [], "stop"


def _in_reasoning(reply: Reply, scene: Scene) -> None:
    reply.reasoning += _as_markup(reply, scene)
    reply.calls, reply.finish = [], "stop"


def _as_markup(reply: Reply, scene: Scene) -> str:
    family = FAMILIES.get(scene.fault.keys.get("family", "hermes"), FAMILIES["hermes"])
    return "\n".join(family.write(call.name, call.arguments) for call in reply.calls)


def _bad_id(reply: Reply, scene: Scene) -> None:
    form = scene.form("null", "repeated")
    for call in reply.calls:
        call.id = None if form == "null" else "call_0"
    if form == "repeated":
        _at_least_two(reply, "call_0")


def _at_least_two(reply: Reply, call_id: str = "") -> None:
    if len(reply.calls) == 1:
        reply.calls.append(Call(reply.calls[0].name, reply.calls[0].arguments, call_id))


def _in_parallel(reply: Reply, scene: Scene) -> bool:
    """A second call, though the request allows one."""
    allowed = scene.body.get("parallel_tool_calls") is not False
    if not allowed:
        reply.calls.append(Call(reply.calls[0].name, reply.calls[0].arguments))
    return not allowed


def _bad_index(reply: Reply, scene: Scene) -> None:
    _at_least_two(reply)
    form = scene.form("same", "gap")
    for at, call in enumerate(reply.calls):
        call.index = 0 if form == "same" else at * 2 + 1


def _merged(reply: Reply, scene: Scene) -> None:
    """As SGLang's streamed Messages did (#39782): the arguments of all calls in the first one."""
    _at_least_two(reply)


def _repair(reply: Reply, scene: Scene) -> None:
    """As SGLang did (`tool-auto-forced-badjson-*`): streamed, it was repaired; whole, it stayed in the content."""
    call = reply.calls[0]
    call.generated = _with_stray_quote(call.arguments)
    if not scene.stream:
        call.leaked, reply.finish = True, "stop"


def _drop(reply: Reply, scene: Scene) -> None:
    """The call is there when streamed; whole, the parser loses it and says nothing."""
    if not scene.stream:
        for call in reply.calls:
            call.dropped = True
        reply.finish = "stop"


def _truncated(reply: Reply, scene: Scene) -> None:
    reply.limit = int(scene.fault.number("at", 12))
    reply.finish = scene.fault.keys.get("finish", "length")


def _empty(reply: Reply, scene: Scene) -> None:
    reply.reasoning, reply.content, reply.calls, reply.finish = "", "", [], "stop"


def _contradicts(reply: Reply, scene: Scene) -> None:
    reply.finish = "stop" if reply.calls else "tool_calls"


def _ignored(reply: Reply, scene: Scene) -> bool:
    choice = scene.body.get("tool_choice")
    if choice == "none" and scene.body.get("tools"):
        function = scene.body["tools"][0].get("function") or {}
        arguments = orjson.dumps(sample(function.get("parameters") or {})).decode()
        reply.calls = [Call(str(function.get("name")), arguments)]
        return True
    if choice == "required" or isinstance(choice, dict):
        reply.calls, reply.content = [], reply.content or "I can do that for you."
        return True
    return False


def _collapse(reply: Reply, scene: Scene) -> None:
    """From token `at` on, `unit` is repeated until the token limit ends it."""
    keys, at = scene.fault.keys, int(scene.fault.number("at", 200))
    channel = keys.get("channel", "content")
    unit = keys.get("unit", COLLAPSE_UNIT).replace("\\n", "\n")
    tokens = int(scene.fault.number("tokens", 2048))
    room = scene.body.get("max_completion_tokens") or scene.body.get("max_tokens") or tokens
    text = reply.reasoning if channel == "reasoning" else reply.content
    lead = _lead(text, at * 4, scene.rng)
    text = lead + unit * (max(int(room), tokens) * 4 // max(1, len(unit.encode())) + 1)
    reply.calls, reply.limit, reply.finish = [], min(int(room), tokens), "length"
    if channel == "reasoning":
        reply.reasoning, reply.content = text, ""
    else:
        reply.content = text


def _lead(text: str, length: int, rng: Random) -> str:
    """`length` characters of sound text, so that the collapse begins where it was asked for."""
    words = """
    so we read file line then check value before change test queue
    """.split()
    while len(text) < length:
        text += (" " if text else "") + rng.choice(words) + str(rng.randint(1, 9999))
    return text[:length]


def _differs(reply: Reply, scene: Scene) -> None:
    if not scene.stream:
        reply.content = "In short: " + reply.content


def _unconstrained(reply: Reply, scene: Scene) -> bool:
    """A server that ignores `response_format`: the model talks before it answers."""
    asked = bool(scene.body.get("response_format")) and not reply.calls
    if asked:
        reply.content = "Sure, here it is: " + reply.content
    return asked


def _noted(reply: Reply, scene: Scene) -> None:
    """A matter of events, not of the reply: the server reads the fault's form."""


FAULTS: dict[str, Change] = {
    "arguments_not_json": _on_call(_not_json),
    "arguments_not_object": _on_call(_not_object),
    "missing_parameter": _edit(_missing),
    "wrong_type": _edit(_wrong_type),
    "bad_value": _edit(_bad_value),
    "unexpected_parameter": _edit(_unexpected),
    "unknown_tool": _on_call(_unknown_tool),
    "leaked_markup": _with_calls(_leaked),
    "swallowed_parameter": _edit(_swallowed),
    "damaged_text": _edit(_damaged),
    "parallel_ignored": _with_calls(_in_parallel),
    "call_in_reasoning": _with_calls(_in_reasoning),
    "bad_call_id": _with_calls(_bad_id),
    "bad_call_index": _with_calls(_bad_index),
    "silent_repair": _with_calls(_repair),
    "silent_drop": _with_calls(_drop),
    "truncated": _truncated,
    "empty_turn": _empty,
    "finish_contradicts": _contradicts,
    "choice_ignored": _ignored,
    "collapse": _collapse,
    "stream_differs": _differs,
    "breaks_schema": _unconstrained,
    "protocol": _with_calls(_noted),
    "merged_calls": _with_calls(_merged, streamed=True),
    "first_delta_dropped": _with_calls(_noted, streamed=True),  # as vLLM's streamed Messages did (PR #34053)
}
