"""`report --salvage`: what is sound of a damaged journal, and what is missing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from replayer.errors import RunFolderError
from replayer.journal.events import AnyEvent, Warned
from replayer.journal.lines import SEALED_FROM, Damage, encoded, kind_of, number_of, parsed, schema_of, seal
from replayer.journal.parts import journal_of, parts
from replayer.journal.view import MISFITS, Fold

CODE = "salvaged"
_SESSION = re.compile(rb'"session":"([^"\\]{1,200})"')
_NAMED = 20
"""Losses that are named one by one; the others are counted."""

Place = tuple[bool, int]
"""Whether a line is sealed, and its number: lines without a seal stand before those with one."""


@dataclass(slots=True)
class Salvaged:
    """`folder` is a run folder that holds the sound lines, under the old name; `losses` are sentences."""

    folder: Path
    kept: int = 0
    losses: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """What a reader must know before any figure."""
        if not self.losses:
            return []
        named, more = self.losses[:_NAMED], len(self.losses) - _NAMED
        head = f"the journal is damaged: {self.kept:,} lines are sound; figures lack what follows"
        return [head, *named, *([f"and {more:,} more losses"] if more > 0 else [])]


@contextmanager
def salvaged(folder: Path) -> Iterator[Salvaged]:
    """The folder lasts as long as the context. Raises RunFolderError where nothing can be read."""
    with tempfile.TemporaryDirectory(prefix="replayer-salvage-") as scratch:
        result = Salvaged(Path(scratch) / folder.resolve().name)
        result.folder.mkdir()
        (result.folder / "traces").symlink_to((folder / "traces").resolve())
        fold, own = Fold(), 0
        for part in parts(folder):
            found = _salvaged_part(journal_of(folder, part), journal_of(result.folder, part), fold)
            own = found.kept if not part else own
            if not own:
                raise RunFolderError(f"{journal_of(folder, 0)} holds no sound line")
            result.kept += found.kept
            result.losses += [f"shards/{part}, {loss}" if part else loss for loss in found.losses]
        with journal_of(result.folder, 0).open("ab") as journal:
            for number, words in enumerate(result.words, own + 1):
                journal.write(seal(number, encoded(Warned(message=words, code=CODE))))
        yield result


def _salvaged_part(path: Path, target: Path, fold: Fold) -> Salvaged:
    """`fold` is of the parts before: what stands in one fits what stands in them."""
    found = Salvaged(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as journal:
        for event in _fitting(_sound(path, found), path, fold, found):
            found.kept += 1
            journal.write(seal(found.kept, encoded(event)))
    return found


def _sound(path: Path, result: Salvaged) -> Iterator[tuple[int, bytes]]:
    """Every line that is as it was written, once and in its order, with its number."""
    places = _places(path, result)
    with path.open("rb") as stream:
        for (_, number), offset in sorted(places.items()):
            stream.seek(offset)
            yield number, stream.readline()
    numbers = {number for _, number in places}
    gaps = [number for number in range(1, max(numbers, default=0)) if number not in numbers]
    named = {loss.partition(": ")[0] for loss in result.losses}
    result.losses += [f"line {number} is missing" for number in gaps if f"line {number}" not in named]


def _places(path: Path, result: Salvaged) -> dict[Place, int]:
    """Where each sound line starts."""
    places: dict[Place, int] = {}
    offset, must_be_sealed = 0, False
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if number == 1:
                must_be_sealed = (schema_of(line) or 0) >= SEALED_FROM
            try:
                written = _written(line, must_be_sealed)
                place = written is not None, written or number
                if place in places:
                    raise Damage(f"line {written} once more")
                places[place] = offset
                must_be_sealed = must_be_sealed or place[0]
            except Damage as damage:
                result.losses.append(_loss(number, line, str(damage)))
            offset += len(line)
    return places


def _written(line: bytes, must_be_sealed: bool) -> int | None:
    if not line.endswith(b"\n"):
        raise Damage("cut off")
    number = number_of(line)
    if number is None and must_be_sealed:
        raise Damage("it has no checksum, or a damaged one")
    return number


def _loss(number: int, line: bytes, how: str) -> str:
    session = _SESSION.search(line)
    of = f" of {session[1].decode('utf-8', 'replace')}" if session else ""
    return f"line {number}: a damaged {kind_of(line)}{of}: {how}"


def _fitting(
    lines: Iterator[tuple[int, bytes]], path: Path, fold: Fold, result: Salvaged
) -> Iterator[AnyEvent]:
    """The events that make sense after those before them."""
    for number, line in lines:
        try:
            event = parsed(line, path)
            if event is None:
                continue
            fold.apply(event)
        except Damage as damage:
            result.losses.append(_loss(number, line, str(damage)))
        except MISFITS:
            result.losses.append(_loss(number, line, "it needs a line that is missing"))
        else:
            yield event
