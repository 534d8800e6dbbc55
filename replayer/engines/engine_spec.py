"""Engine SPECs: `NAME=URL[,key=value…]`, `NAME=embedded[,…]`, `NAME=simulated[,…]`, and their form in a plan."""

from __future__ import annotations

import json
from dataclasses import asdict, field
from typing import Literal, get_args

from replayer.engines.registry import KINDS, kind_named
from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.text import nearest, similar
from replayer.wire.credentials import without_secrets
from replayer.wire.types import JsonObject

LaunchKind = Literal["embedded", "simulated"]
_LAUNCHED: tuple[LaunchKind, ...] = get_args(LaunchKind)

_OPENERS = {"[": "]", "{": "}", "(": ")"}


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One lane as the command line names it. `options` are settings of an engine that replayer starts."""

    name: str
    url: str | None = None
    launch: LaunchKind | None = None
    kind: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    wire: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    sampling: JsonObject = field(default_factory=dict)
    extra: JsonObject = field(default_factory=dict)
    options: JsonObject = field(default_factory=dict)

    def lane(self) -> JsonObject:
        """As a lane of a plan."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def parse(text: str) -> EngineSpec:
    """Raises PlanError in one sentence that names the SPEC, without its secrets, and what is wrong with it."""
    try:
        return _parsed(text)
    except PlanError as error:
        raise PlanError(without_secrets(str(error))) from None


def _parsed(text: str) -> EngineSpec:
    name, equals, rest = text.partition("=")
    target, *settings = split(rest, text)
    if not equals or not name.strip() or not target.strip():
        raise PlanError(f"engine {text!r} is not NAME=URL, NAME=embedded or NAME=simulated")
    launch, url = _target(text, target.strip())
    values: JsonObject = {"name": name.strip(), "launch": launch, "url": url}
    parts: JsonObject = {"sampling": {}, "extra": {}, "options": {}, "headers": {}}
    for setting in settings:
        key, equals, raw = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise PlanError(f"engine {text!r}: {setting!r} is not key=value")
        _place(values, parts, launch, key, raw.strip())
    if values.get("kind") is not None:
        kind_named(values["kind"], f"engine {text!r}: ")
    if launch == "simulated":
        parts["options"] |= {key: values[key] for key in ("kind", "model") if values.get(key)}
    return EngineSpec(**values, **parts)


def _target(text: str, target: str) -> tuple[LaunchKind | None, str | None]:
    if launch := next((kind for kind in _LAUNCHED if kind == target), None):
        return launch, None
    if not target.startswith(("http://", "https://")):
        raise PlanError(
            f"engine {text!r}: {target!r} is neither a URL (http://…/v1), nor embedded, nor simulated"
            + (nearest(target, _LAUNCHED) if "/" not in target and "." not in target else "")
        )
    return None, target


def _place(values: JsonObject, parts: JsonObject, launch: LaunchKind | None, key: str, raw: str) -> None:
    if key in ("kind", "model", "api_key_env", "wire"):
        values[key] = _unquote(raw)
    elif key.startswith("header."):
        parts["headers"][key.removeprefix("header.")] = _unquote(raw)
    elif key.startswith("extra."):
        parts["extra"][key.removeprefix("extra.")] = value(raw)
    elif key in launch_options(launch) and key in ("fault", "trace", "lora"):  # may be given several times
        parts["options"].setdefault(key, []).append(_unquote(raw) if key == "fault" else value(raw))
    elif key in launch_options(launch):
        parts["options"][key] = value(raw)
    else:
        _refuse_misspelt(key, launch)
        parts["sampling"][key.removeprefix("sampling.")] = value(raw)


def _refuse_misspelt(key: str, launch: LaunchKind | None) -> None:
    """A key of an engine that we start, that is nearly one of its settings and not a sampling field of any kind."""
    known = {name for kind in KINDS.values() for name in kind.sampling or ()}
    near = similar(key, launch_options(launch), cutoff=0.8)
    if near and key not in known and not key.startswith("sampling."):
        raise PlanError(f"a {launch} engine has no setting {key!r}; did you mean {near!r}?")


def launch_options(launch: LaunchKind | None) -> frozenset[str]:
    """Names that are settings of the server to start, not sampling fields."""
    if launch == "simulated":
        from replayer.simulated.spec import SETTINGS

        return frozenset(SETTINGS.keys() - {"kind", "model", "seed"})
    if launch == "embedded":
        from replayer.engines.embedded import llama_server as embedded

        return embedded.OPTIONS - {"model"}
    return frozenset()


def value(raw: str) -> object:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _unquote(raw: str) -> str:
    parsed = value(raw)
    return parsed if isinstance(parsed, str) else raw


def split(text: str, whole: str) -> list[str]:
    """Cut at commas outside brackets and quotes. Raises PlanError for an unclosed one."""
    parts, closers = [""], list[str]()
    quoted = escaped = False
    for letter in text:
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in _OPENERS:
            closers.append(_OPENERS[letter])
        elif closers and letter == closers[-1]:
            closers.pop()
        elif letter == "," and not closers:
            parts.append("")
            continue
        parts[-1] += letter
    if quoted or closers:
        raise PlanError(f"engine {whole!r}: a quote or a bracket is not closed")
    return parts
