"""Records of a trace file as JSON lines, and back. Unknown keys are ignored, missing ones named."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from replayer.errors import TraceError
from replayer.lazy import dataclass
from replayer.traces.schema import (
    AnyItem,
    Header,
    Item,
    Thread,
    ToolCallItem,
    ToolRun,
    ToolSet,
    Turn,
)
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last line of a finished trace; its absence means that the file was cut or is being recorded."""

    items: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTurns:
    """Turns that have lengths and block hashes only, as columns of equal length."""

    block_size: int
    threads: Sequence[str]
    started: Sequence[float | None]
    """Seconds since the epoch."""
    sent: Sequence[int]
    answered: Sequence[int]
    hashes: Sequence[bytes]
    """The JSON of each prompt's list of block hashes."""


Record = Header | AnyItem | Turn | ToolSet | ToolRun | Thread | End

_TAGS: dict[type, str] = {
    Header: "trace",
    Turn: "turn",
    ToolSet: "tool_set",
    ToolRun: "tool_run",
    Thread: "thread",
    End: "end",
}
_CLASSES: dict[str, Any] = {tag: klass for klass, tag in _TAGS.items()}
_CLASSES["item"] = Annotated[AnyItem, Field(discriminator="kind")]

_DERIVED = frozenset({"parsed"})
"""Fields that reading recomputes, so that a file holds every argument text once."""


class RecordError(TraceError):
    """A line is not a valid record; the message is a reason without file and line."""


def encode(record: Record) -> bytes:
    """One line with its newline. Raises RecordError when a value has no JSON form."""
    if isinstance(record, Item):
        kind, body = item_body(record)
        return encode_item(record.id, kind, body, body_hash(kind, body).hex())
    return dumps({"type": _TAGS[type(record)], **_plain(record)}) + b"\n"


def item_body(item: Item) -> tuple[str, bytes]:
    """Kind and JSON of everything else but the id: what makes two items equal."""
    body = _plain(item)
    del body["id"]
    return body.pop("kind"), dumps(body)


def encode_item(number: int, kind: str, body: bytes, digest: str) -> bytes:
    """The line of an item from its parts (see `item_body`, `body_hash`)."""
    head = f'{{"type":"item","id":{number},"kind":"{kind}","hash":"{digest}"'.encode()
    return b"%b,%b\n" % (head, body[1:]) if len(body) > 2 else head + b"}\n"


def encode_token_turns(first: int, turns: TokenTurns) -> bytes:
    """Their lines, numbered from `first`; such traces hold turns by the million."""
    starts = orjson.dumps(turns.started)[1:-1].decode().split(",")
    pieces: list[bytes] = []
    for number, (thread, start, sent, answered, hashes) in enumerate(
        zip(turns.threads, starts, turns.sent, turns.answered, turns.hashes, strict=True), first
    ):
        times = f'"times":{{"started":{start}}},' if start != "null" else ""
        head = (
            f'{{"type":"turn","id":{number},"context":{{"append":[]}},"produced":[],'
            f'"thread":{orjson.dumps(thread).decode()},"params":{{}},'
            f'"usage":{{"prompt_tokens":{sent},"completion_tokens":{answered}}},{times}'
            f'"tokens":{{"input_tokens":{sent},"output_tokens":{answered},"block_size":{turns.block_size}'
        )
        pieces += (
            (head.encode(), b',"block_hashes":', hashes, b"}}\n")
            if hashes != b"[]"
            else (head.encode(), b"}}\n")
        )
    return b"".join(pieces)


def body_hash(kind: str, body: bytes) -> bytes:
    """Digest (128 bits) of kind and body: equal items have equal hashes."""
    comma = b"," if len(body) > 2 else b""
    whole = b'%b%b"kind":"%b"}' % (body[:-1], comma, kind.encode())
    return hashlib.blake2b(whole, digest_size=16).digest()


def decode(line: bytes | memoryview) -> Record:
    """Raises RecordError."""
    return build(tag_of(line), line)


@cache
def _adapter(tag: str) -> TypeAdapter[Any]:
    """Made when a record of this type is first met: most traces have few types, and each takes a millisecond."""
    return TypeAdapter(_CLASSES[tag])


def build(tag: str, source: bytes | memoryview | JsonObject) -> Record:
    """A record of a known tag from its JSON text or, when migrated, from its parsed form."""
    if tag not in _CLASSES:
        raise RecordError(f"unknown record type {tag!r}")
    adapter = _adapter(tag)
    try:
        if isinstance(source, dict):
            record = adapter.validate_python(source)
        else:
            record = adapter.validate_json(bytes(source) if isinstance(source, memoryview) else source)
    except ValidationError as error:
        raise RecordError(_reason(error)) from None
    return _with_parsed(record) if isinstance(record, ToolCallItem) else record


def tag_of(line: bytes | memoryview) -> str:
    """The record type of a line; lines of our own writer are recognised by their first bytes."""
    head = bytes(line[:24])
    if head.startswith(b'{"type":"'):
        tag, quote, _ = head[9:].partition(b'"')
        if quote:
            return tag.decode("utf-8", "replace")
    parsed = loads(line)
    if not isinstance(parsed, dict) or not isinstance(parsed.get("type"), str):
        raise RecordError('no record: expected an object with a "type"')
    return str(parsed["type"])


def loads(line: bytes | memoryview) -> Any:
    """Raises RecordError."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"not JSON ({error})") from None


def dumps(value: object) -> bytes:
    """Compact JSON; records within the value as `_plain` gives them. Raises RecordError."""
    try:
        return orjson.dumps(value, _plain, orjson.OPT_PASSTHROUGH_DATACLASS)
    except TypeError as error:
        raise RecordError(f"a value has no JSON form ({error})") from None


def content_hash(item: Item) -> str:
    """The hash of an item as its line states it."""
    return body_hash(*item_body(item)).hex()


def parse_arguments(text: str, freeform: bool = False) -> object:
    """The value of argument text, None where it is not JSON."""
    if freeform:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _with_parsed(call: ToolCallItem) -> ToolCallItem:
    # `object.__setattr__`, because dataclasses.replace doubles the cost of reading a call.
    object.__setattr__(call, "parsed", parse_arguments(call.arguments, call.freeform))
    return call


_ALWAYS = frozenset({"kind", "schema"})
_FIELDS: dict[type[Any], tuple[tuple[str, Any], ...]] = {}
"""Of each class the fields that its line holds, with the default that is left out (an unmatched object: none is)."""


def _plain(record: Any) -> JsonObject:
    """Fields that differ from their default; field order is kept."""
    klass = type(record)
    known = _FIELDS.get(klass)
    if known is None:
        known = _FIELDS[klass] = tuple(
            (f.name, object() if f.name in _ALWAYS else f.default)
            for f in fields(klass)
            if f.name not in _DERIVED
        )
    return {
        name: value
        for name, default in known
        if (value := getattr(record, name)) is not default and value != default
    }


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).replace("\n", " ")
    return f"{where}: {message}" if where else message
