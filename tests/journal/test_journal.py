"""The run folder: what survives a killed process, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.errors import RunFolderError
from replayer.journal.events import JOURNAL_SCHEMA, RunStarted, SessionFinished, TurnFinished, Warned
from replayer.journal.lines import encoded, seal
from replayer.journal.log import JOURNAL, JournalWriter, Reading, create_folder, find_run, read, writer_pid
from replayer.journal.packing import gaps_us, pack
from replayer.journal.progress import plan_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_folder(tmp_path / "run")
    return tmp_path / "run"


def write(folder: Path, *messages: str) -> None:
    journal = JournalWriter(folder)
    for message in messages:
        journal.append(Warned(message=message))
    journal.close()


def messages(folder: Path) -> list[str]:
    return [event.message for event in read(folder) if isinstance(event, Warned)]


def test_what_was_written_is_read(folder: Path) -> None:
    write(folder, "one", "zwei — drei", "lone \ud800 surrogate")
    assert messages(folder)[:2] == ["one", "zwei — drei"]
    assert "\ufffd" in messages(folder)[2]


def test_a_torn_last_line_is_left_out_and_then_dropped(folder: Path) -> None:
    write(folder, "one", "two")
    path = folder / JOURNAL
    path.write_bytes(path.read_bytes()[:-7])
    assert messages(folder) == ["one"]
    write(folder, "three")
    assert messages(folder) == ["one", "three"]


def test_a_damaged_line_is_named(folder: Path) -> None:
    write(folder, "one", "two")
    path = folder / JOURNAL
    path.write_bytes(path.read_bytes().replace(b',"at"', b',at"', 1))
    with pytest.raises(
        RunFolderError, match=r"journal\.jsonl, line 1: a 'warning' event is damaged: its checksum"
    ):
        messages(folder)


def test_a_damaged_line_is_named_by_its_place_in_the_file_by_whoever_reads_on(folder: Path) -> None:
    write(folder, "one", "two")
    path = folder / JOURNAL
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(RunFolderError, match=r"line 3: a line is damaged: not a journal line"):
        list(Reading(folder, {0: size}).events())


def test_a_journal_of_a_later_schema_is_refused_even_where_it_could_be_read(folder: Path) -> None:
    line = RunStarted(schema_number=JOURNAL_SCHEMA + 1, run_id="r", wall=0.0, version="9", plan={})
    (folder / JOURNAL).write_bytes(seal(1, encoded(line)))
    with pytest.raises(RunFolderError, match="update replayer"):
        list(read(folder))


def test_events_of_a_later_version_are_passed_over(folder: Path) -> None:
    write(folder, "one")
    with (folder / JOURNAL).open("ab") as stream:
        stream.write(seal(2, b'{"type":"telepathy","at":1}'))
    write(folder, "two")
    assert messages(folder) == ["one", "two"]


def test_a_newer_schema_is_refused(folder: Path) -> None:
    (folder / JOURNAL).write_text(
        '{"type":"run_started","schema_number":99,"run_id":7,"wall":0,"version":"9","plan":{}}\n'
    )
    with pytest.raises(RunFolderError, match="update replayer"):
        messages(folder)


def test_one_writer_at_a_time(folder: Path) -> None:
    journal = JournalWriter(folder)
    code = f"from replayer.journal.log import JournalWriter; from pathlib import Path; JournalWriter(Path({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"is being written by process {os.getpid()}" in done.stderr
    assert writer_pid(folder) == os.getpid()
    journal.close()
    assert writer_pid(folder) is None


def test_a_full_disk_loses_nothing_that_was_written(folder: Path) -> None:
    """A file size limit stands for the full disk: the same path, without a file system of its own."""
    code = f"""
import resource, signal
from pathlib import Path
from replayer.journal.events import Warned
from replayer.journal.log import JournalWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = JournalWriter(Path({str(folder)!r}))
for number in range(100):
    journal.append(Warned(message=f"message {{number}}"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "cannot be written: File too large; free some space" in done.stderr
    kept = messages(folder)
    assert kept == [f"message {number}" for number in range(len(kept))]
    assert len(kept) > 5


def test_a_folder_that_holds_a_run_is_refused(folder: Path) -> None:
    write(folder, "one")
    with pytest.raises(RunFolderError, match="holds a run already"):
        create_folder(folder)


def test_a_missing_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="run 'nowhere' does not exist"):
        find_run("nowhere")
    with pytest.raises(RunFolderError, match="is not a run folder"):
        find_run(str(tmp_path))


def test_a_journal_of_the_first_schema_stays_readable() -> None:
    old = Path(__file__).parents[1] / "old_runs" / "schema-1"
    events = list(read(old))
    assert sum(isinstance(event, TurnFinished) for event in events) > 5
    assert any(isinstance(event, SessionFinished) for event in events)
    assert [lane.name for lane in plan_of(old).lane] == ["a", "b"]


@given(st.lists(st.integers(0, 10**12)).map(sorted))
def test_packed_times_come_back_in_microseconds(offsets: list[int]) -> None:
    total, unpacked = 0, []
    for gap in gaps_us(pack(offsets)):
        total += gap
        unpacked.append(total)
    expected = [offset // 1000 for offset in offsets]
    if not expected or max(b - a for a, b in zip([0, *expected], expected, strict=False)) <= 0xFFFF_FFFF:
        assert unpacked == expected
