"""A journal with one fault: no figure is wrong without a word, and nothing ends in a traceback.

The large count of issue 20 is `REPLAYER_FAULTS=10000 pytest -m slow tests/journal/test_faults.py`.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import RunFolderError
from replayer.journal.events import JOURNAL_SCHEMA, Warned
from replayer.journal.log import JOURNAL, JournalWriter, create_folder, read
from replayer.journal.salvage import CODE, salvaged
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from tests.run.test_runs import replayer

COUNT = int(os.environ.get("REPLAYER_FAULTS", "300"))
Lines = list[bytes]


def flipped(lines: Lines, at: int, rng: random.Random) -> Lines:
    line = bytearray(lines[at])
    line[rng.randrange(len(line))] ^= 1 << rng.randrange(8)
    return [*lines[:at], bytes(line), *lines[at + 1 :]]


def truncated(lines: Lines, at: int, rng: random.Random) -> Lines:
    return [*lines[:at], lines[at][: rng.randrange(len(lines[at]))] + b"\n", *lines[at + 1 :]]


def swapped(lines: Lines, at: int, rng: random.Random) -> Lines:
    other = rng.choice([n for n in range(len(lines)) if n != at])
    changed = list(lines)
    changed[at], changed[other] = lines[other], lines[at]
    return changed


def doubled(lines: Lines, at: int, rng: random.Random) -> Lines:
    to = rng.randrange(len(lines) + 1)
    return [*lines[:to], lines[at], *lines[to:]]


def cut(lines: Lines, at: int, rng: random.Random) -> Lines:
    return [*lines[:at], lines[at][: rng.randrange(len(lines[at]))]]


FAULTS: dict[str, Callable[[Lines, int, random.Random], Lines]] = {
    "flipped": flipped,
    "lost": lambda lines, at, rng: [*lines[:at], *lines[at + 1 :]],
    "doubled": doubled,
    "swapped": swapped,
    "truncated": truncated,
    "cut": cut,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "run"
    done = replayer("run", "--trace", "fix-failing-test", "--engine", "a=simulated,fault=unknown_tool:turn=1", "--engine",
                    "b=simulated", "--max-turns", "3", "--out", folder, "--plain")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def figures(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(orjson.dumps(run_figures(load(folder))))
    return document


def copy_of(run: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    if not (folder / "traces").exists():
        (folder / "traces").symlink_to(run / "traces")
    return folder / JOURNAL


@pytest.mark.slow
def test_no_single_fault_changes_a_figure_without_a_word(run: Path, tmp_path: Path) -> None:
    sound, lines = figures(run), (run / JOURNAL).read_bytes().splitlines(keepends=True)
    journal = copy_of(run, tmp_path / "run")
    rng = random.Random(20)
    refused = 0
    for number in range(COUNT):
        name = list(FAULTS)[number % len(FAULTS)]
        journal.write_bytes(b"".join(FAULTS[name](lines, rng.randrange(len(lines)), rng)))
        try:
            found = figures(journal.parent)
            assert found == sound or found["state"] == "interrupted", name
        except RunFolderError as error:
            refused += 1
            assert ("line " in str(error) and "--salvage" in str(error)) or "holds no" in str(error), error
        assert_salvage_is_honest(journal.parent, sound, name)
    assert refused > COUNT // 2


def assert_salvage_is_honest(folder: Path, sound: dict[str, Any], name: str) -> None:
    try:
        with salvaged(folder) as found:
            again = figures(found.folder)
            words = {
                event.message
                for event in read(found.folder)
                if isinstance(event, Warned) and event.code == CODE
            }
    except RunFolderError as error:
        assert name == "cut" and "no sound line" in str(error)
        return
    assert words == set(found.words)
    same = {key: value for key, value in again.items() if key != "warnings"} == {
        key: value for key, value in sound.items() if key != "warnings"
    }
    assert same or found.losses or again["state"] == "interrupted", name


def test_swapped_and_doubled_lines_are_put_right(run: Path, tmp_path: Path) -> None:
    sound, lines = figures(run), (run / JOURNAL).read_bytes().splitlines(keepends=True)
    journal = copy_of(run, tmp_path / "run")
    for change in (swapped, doubled):
        journal.write_bytes(b"".join(change(lines, 4, random.Random(1))))
        with pytest.raises(RunFolderError, match="out of place"):
            figures(journal.parent)
        with salvaged(journal.parent) as found:
            assert figures(found.folder)["lanes"] == sound["lanes"]


def test_a_damaged_line_in_the_middle_is_named_and_the_others_are_reported(run: Path, tmp_path: Path) -> None:
    lines = (run / JOURNAL).read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"verdict"' in line)
    journal = copy_of(run, tmp_path / "run")
    journal.write_bytes(
        b"".join([*lines[:at], lines[at].replace(b'"usable":', b'"usable";'), *lines[at + 1 :]])
    )
    refused = replayer("report", journal.parent)
    named = f"line {at + 1}: a 'verdict' event is damaged: its checksum does not fit"
    assert refused.returncode == 2 and named in refused.stderr and "report --salvage" in refused.stderr
    salvage = replayer("report", journal.parent, "--salvage")
    assert salvage.returncode == 0, salvage.stderr
    for text in (salvage.stderr, " ".join(salvage.stdout.split())):
        session = orjson.loads(lines[at])["session"]
        assert f"line {at + 1}: a damaged 'verdict' event of {session}" in " ".join(text.split())
    assert journal.read_bytes().count(b"\n") == len(lines)


@pytest.mark.parametrize(
    "arrivals", ["%%%%", "eJw=", "AAAA", "eJxLTEoGAAJNASc="], ids=["text", "cut", "bytes", "odd"]
)
def test_times_that_cannot_be_unpacked_are_damage_also_in_an_old_journal(
    run: Path, tmp_path: Path, arrivals: str
) -> None:
    """Journals before schema 3 have no checksums."""
    journal = copy_of(run, tmp_path / "run")
    text = unsealed((run / JOURNAL).read_bytes())
    at = text.index(b'"arrivals":"', text.index(b'"turn_finished"')) + 12
    journal.write_bytes(text[:at] + arrivals.encode() + text[text.index(b'"', at) :])
    with pytest.raises(RunFolderError, match="'turn_finished' event that fits nothing before it"):
        figures(journal.parent)
    with salvaged(journal.parent) as found:
        assert "turn_finished" in found.words[1]


def unsealed(journal: bytes) -> bytes:
    """As schema 2 wrote it."""
    bare = (b"{" + line.split(b",", 2)[2] for line in journal.splitlines(keepends=True))
    return b"".join(bare).replace(b'"schema_number":%d' % JOURNAL_SCHEMA, b'"schema_number":2', 1)


def test_an_old_journal_goes_on_with_sealed_lines(run: Path, tmp_path: Path) -> None:
    journal = copy_of(run, tmp_path / "run")
    journal.write_bytes(unsealed((run / JOURNAL).read_bytes()))
    before = len(list(read(journal.parent)))
    writer = JournalWriter(journal.parent)
    writer.append(Warned(message="one"))
    writer.append(Warned(message="two"))
    writer.close()
    assert len(list(read(journal.parent))) == before + 2
    text = journal.read_bytes()
    journal.write_bytes(text.replace(b'"message":"one"', b'"message":"on3"'))
    with pytest.raises(RunFolderError, match=f"line {before + 1}: a 'warning' event is damaged"):
        list(read(journal.parent))
    journal.write_bytes(b"".join(line for line in text.splitlines(keepends=True) if b'"one"' not in line))
    with pytest.raises(RunFolderError, match=f"line {before + 1} is missing before it"):
        list(read(journal.parent))


def test_sessions_are_forced_to_disk_as_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from replayer.journal.events import SessionFinished

    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    create_folder(tmp_path / "run")
    journal = JournalWriter(tmp_path / "run")
    journal.append(Warned(message="one"))
    assert not synced
    journal.append(SessionFinished(session="a/t/0", attempt=1, outcome="done"))
    ended = os.stat(tmp_path / "run" / JOURNAL).st_size
    while not synced:
        os.sched_yield()
    journal.close()
    assert synced == [ended, ended]


def test_sessions_that_end_together_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from replayer.journal.events import SessionFinished

    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    create_folder(tmp_path / "run")
    journal = JournalWriter(tmp_path / "run", sync_apart=1000.0)
    for number in range(2000):
        journal.append(SessionFinished(session=f"a/t/{number}", attempt=1, outcome="done"))
    journal.close()
    assert len(synced) <= 2
    assert synced[-1] == os.stat(tmp_path / "run" / JOURNAL).st_size
