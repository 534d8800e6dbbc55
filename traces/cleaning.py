"""What is removed from everything that a recording writes: credentials always, secrets and home paths where asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import orjson

from replayer.traces.chat import STYLES
from replayer.traces.credentials import HIDDEN, unmistakable, without_fields
from replayer.traces.importers.values import loads
from replayer.traces.secrets import Redact, cleaned
from replayer.wire.types import Json, JsonObject, Reply

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_DELTAS = frozenset({"text", "thinking", "partial_json", "delta", "content", "arguments", "refusal"})
"""Keys under which the APIs stream text piece by piece."""
_TELLING = 8
"""Characters of a credential that are hidden even where the rest of it did not come."""


class Cleaner:
    """Cleans what belongs to one exchange. `credentials` are what its request carried, as bytes."""

    def __init__(self, credentials: Sequence[bytes], redact: Redact | None) -> None:
        self._known = [value.decode("utf-8", "replace") for value in credentials]
        self._sure = [value.decode("utf-8", "replace") for value in unmistakable(credentials)]
        self._redact = redact

    def text(self, text: str) -> str:
        return self._without(self._sure, text)

    def error(self, text: str) -> str:
        """An engine's complaint may repeat a key of any form."""
        return self._without(self._known, text)

    def _without(self, hidden: Sequence[str], text: str) -> str:
        for value in hidden:
            text = _without_torn_end(text.replace(value, HIDDEN), value)
        return text if self._redact is None else self._redact(text)

    def body(self, body: bytes) -> tuple[Json, bytes]:
        """The JSON of a request's body, and its bytes in the client's spacing. Raises ValueError for no JSON."""
        body = without_fields(body)
        value = loads(body)
        if self._redact is None and not any(hidden.encode() in body for hidden in self._sure):
            return value, body
        clean = cleaned(value, self.text)
        write = next((write for write in STYLES.values() if write(value) == body), None)
        return clean, body if write is None else write(clean)

    def reply(self, reply: Reply) -> Reply:
        if self._redact is None and not self._known:
            return reply
        calls = tuple(replace(call, arguments=self.text(call.arguments)) for call in reply.tool_calls)
        fault = reply.fault and replace(reply.fault, message=self.error(reply.fault.message), body=None)
        content, reasoning = self.text(reply.content), self.text(reply.reasoning)
        output = tuple([cleaned(block, self.text) for block in reply.output])
        return replace(
            reply, content=content, reasoning=reasoning, tool_calls=calls, fault=fault, output=output
        )

    def stream(self, text: str, failed: bool) -> str:
        """The body of a response as it passed; in an event stream also what is cut in pieces."""
        clean = self.error if failed else self.text
        if self._redact is None and not self._known:
            return text
        return clean(_joined_events(text, clean) if "data:" in text else text)


def _without_torn_end(text: str, value: str) -> str:
    """The text of an answer that broke off in the middle of a credential ends with the beginning of it."""
    beginning, at = value[:_TELLING], len(text) - len(value)
    while (at := text.find(beginning, max(at + 1, 0))) >= 0:
        if value.startswith(text[at:]):
            return text[:at] + HIDDEN
    return text


def _joined_events(text: str, clean: Callable[[str], str]) -> str:
    """An event stream whose deltas, put together, hold nothing that cleaning would change.

    Where they do, the cleaned text is said by the first delta of its kind, and the others are empty.
    """
    lines = _LINE.findall(text)
    places: dict[str, list[tuple[int, JsonObject, str]]] = {}
    events: dict[int, Json] = {}
    for number, line in enumerate(lines):
        if line.startswith("data:") and (event := _parsed(line[5:])) is not None:
            events[number] = event
            for name, holder, key in _deltas(event, ""):
                places.setdefault(name, []).append((number, holder, key))
    changed: set[int] = set()
    for found in places.values():
        said = "".join(holder[key] for _, holder, key in found)
        rest = clean(said)
        if rest != said and len(found) > 1:
            for number, holder, key in found:
                holder[key], rest = rest, ""
                changed.add(number)
    for number in changed:
        end = lines[number][len(lines[number].rstrip("\r\n")) :]
        lines[number] = "data: " + orjson.dumps(events[number]).decode() + end
    return "".join(lines)


def _parsed(payload: str) -> JsonObject | None:
    try:
        value = loads(payload)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _deltas(value: object, name: str) -> list[tuple[str, JsonObject, str]]:
    """Every streamed text of an event: what it continues, the object that holds it, and its key."""
    found: list[tuple[str, JsonObject, str]] = []
    if isinstance(value, dict):
        marks = (value.get(mark) for mark in ("type", "index", "output_index", "item_id", "content_index"))
        name += "/" + ",".join(str(mark) for mark in marks)
        for key, part in value.items():
            if isinstance(part, str) and key in _DELTAS:
                found.append((f"{name}/{key}", value, key))
            else:
                found += _deltas(part, f"{name}/{key}")
    elif isinstance(value, list):
        for part in value:
            found += _deltas(part, name)
    return found
