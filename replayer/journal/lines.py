"""One line of a journal and the event that it holds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import orjson
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from replayer.errors import RunFolderError
from replayer.journal.events import EVENT, JOURNAL_SCHEMA, AnyEvent, Event
from replayer.journal.older import loads
from replayer.journal.seal import Damage


def encoded(event: AnyEvent) -> bytes:
    """An event as JSON. A lone surrogate in a reply becomes U+FFFD, the only form UTF-8 allows."""
    try:
        return event.model_dump_json().encode()
    except PydanticSerializationError:
        return orjson.dumps(_without_surrogates(event.model_dump()))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass").decode(errors="replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value


def damaged(path: Path, offset: int, how: str) -> RunFolderError:
    """For the line that starts at byte `offset`."""
    with path.open("rb") as stream:
        number = 1 + stream.read(offset).count(b"\n")
        kind = kind_of(stream.readline())
    return RunFolderError(
        f"{path}, line {number}: a {kind} {how}; `replayer report --salvage` reads what is sound"
    )


def kind_of(line: bytes) -> str:
    """What a damaged line seems to have been."""
    found = next((kind for kind in sorted(KNOWN_TYPES) if f'"{kind}"'.encode() in line), None)
    return f"{found!r} event" if found else "line"


def parsed(line: bytes, path: Path) -> AnyEvent | None:
    """The event of a whole line, None for a type of a later version.

    Raises Damage for what is not an event, RunFolderError for a journal of a later schema.
    """
    try:
        event = EVENT.validate_json(line)
    except ValidationError:
        return _older_or_unknown(line, path)
    if event.type == "run_started":  # `isinstance` of a model is slow
        _check_schema(event.schema_number, path)
    if (event.type == "run_started" or event.type == "run_resumed") and not event.turns:
        return EVENT.validate_python(loads(line))  # its turns have another name in schema 1
    return event


def _check_schema(number: object, path: Path) -> None:
    if isinstance(number, int) and number > JOURNAL_SCHEMA:
        raise RunFolderError(f"{path} has journal schema {number}, this is {JOURNAL_SCHEMA}: update replayer")


def _older_or_unknown(line: bytes, path: Path) -> AnyEvent | None:
    """Migrate a line of an older journal; skip event types that this version does not know."""
    try:
        values = loads(line)
        kind = values["type"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise Damage("not a journal line") from None
    if kind == "run_started":
        _check_schema(values.get("schema_number"), path)
    if str(kind) in KNOWN_TYPES:
        with suppress(ValidationError):
            return EVENT.validate_python(values)
        raise Damage("its values are not those of such an event")
    return None


KNOWN_TYPES = frozenset(
    model.model_fields["type"].default
    for model in Event.__subclasses__()
    + [sub for cls in Event.__subclasses__() for sub in cls.__subclasses__()]
    if "type" in model.model_fields
)
