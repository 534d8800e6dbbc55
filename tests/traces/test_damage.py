"""Recordings as they lie about: cut, packed, recoded. Each gives what can be saved and says in a sentence what it lacks."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from replayer.errors import TraceError
from replayer.traces.convert import convert
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.unpack import unpacked_zstd
from replayer.traces.importers.values import as_int, loads
from replayer.traces.summary import Summary, check
from tests.traces import samples as made

with tempfile.TemporaryDirectory() as _scratch:
    SAMPLES = made.samples(Path(_scratch))
PLAIN = [s for s in SAMPLES if s.data[:1] in b"{[#"]
_LOSS = ("cut off", "not JSON", "damaged", "no call", "no result", "left out", "holds no", "is missing")


def _outcomes(file: Path, data: bytes) -> list[Summary | TraceError]:
    file.write_bytes(data)
    try:
        return list(convert(file, file.parent / "out"))
    except TraceError as error:
        return [error]


def _counts(outcomes: list[Summary | TraceError]) -> list[tuple[Any, ...]]:
    return [
        (o.format, o.turns, o.tool_calls, o.failed_results) if isinstance(o, Summary) else ("error", str(o))
        for o in outcomes
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.9, 0.995])
def test_a_cut_file_says_so(sample: made.Sample, share: float, tmp_path: Path) -> None:
    file = tmp_path / sample.file
    end = int(len(sample.data) * share)
    while end and sample.data[end - 1 : end + 1].strip() != sample.data[end - 1 : end + 1]:
        end -= 1
    outcomes = _outcomes(file, sample.data[:end])
    for outcome in outcomes:
        if isinstance(outcome, TraceError):
            assert str(file) in str(outcome) and "\n" not in str(outcome)
        else:
            check(Path(outcome.trace))
    said = [str(o) if isinstance(o, TraceError) else " ".join(o.warnings) for o in outcomes]
    assert said
    if sample.format != "zed-markdown" or share < 0.1:  # a text has no end that could be missed
        errors = any(isinstance(outcome, TraceError) for outcome in outcomes)
        assert errors or any(word in text for text in said for word in _LOSS), said


def _laid_out(line: bytes) -> bytes:
    return orjson.dumps(orjson.loads(line), option=orjson.OPT_INDENT_2) if line else line


_FORMS: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "no line ends": lambda data: data.replace(b"}\n{", b"}{"),
    "commas": lambda data: data.replace(b"}\n{", b"},\n{"),
    "an array": lambda data: b"[%b]" % data.replace(b"}\n{", b"},{") if b"}\n{" in data else data,
    "laid out": lambda data: b"\n".join(map(_laid_out, data.splitlines())) if b"}\n{" in data else data,
    "NULs before": lambda data: bytes(4096) + data,
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
    "UTF-16 big-endian": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "blank lines": lambda data: b"\n  \n" + data.replace(b"\n", b"\n\n"),
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstandard.compress,
    "zstd frames": lambda data: zstandard.compress(data[:100]) + zstandard.compress(data[100:]),
    "trailing NULs": lambda data: data + bytes(700),
}


@pytest.mark.parametrize("form", _FORMS)
def test_the_same_recording_in_another_form_of_bytes(form: str, tmp_path: Path) -> None:
    for sample in PLAIN:
        if sample.format == "zed-markdown" and (form == "blank lines" or "NULs" in form):
            continue
        (tmp_path / form).mkdir(exist_ok=True)
        plain = _counts(_outcomes(tmp_path / sample.file, sample.data))
        assert _counts(_outcomes(tmp_path / form / sample.file, _FORMS[form](sample.data))) == plain, sample


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_cut_packing_gives_what_could_be_unpacked(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    records = [
        r for n in range(300) for r in made.claude_session()[:2] if r.update(note=f"{n:x}" * 50) is None
    ]
    packed = pack(made.jsonl([*records, *made.claude_session()]) * 40)
    for end in (len(packed) // 2, 12):
        for outcome in _outcomes(tmp_path / "s.jsonl", packed[:end]):
            text = str(outcome) if isinstance(outcome, TraceError) else " ".join(outcome.warnings)
            assert "data is cut off or damaged" in text


def test_what_is_replaced_or_too_deep_is_said_with_its_line(tmp_path: Path) -> None:
    whole = made.jsonl(made.claude_session())

    def warnings(data: bytes) -> str:
        [summary] = _outcomes(tmp_path / "s.jsonl", data)
        assert isinstance(summary, Summary) and (summary.turns, summary.tool_calls) == (5, 3)
        return " ".join(summary.warnings)

    assert "from line 1 on bytes that are not UTF-8 are" in warnings(whole.replace(b"Tidy", b"Tid\xff"))
    assert "from line 4 on values that JSON does not" in warnings(whole.replace(b"Look first", b"\\ud800"))
    assert "NUL bytes stand where" in warnings(whole.replace(b"\n", b"\n" + bytes(64), 1))
    deep = b'{"type":"user","message":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n"
    assert "line 21 is nested too deeply and is left out" in warnings(whole + deep)
    half = orjson.dumps(made.claude_user("u9", "a9", 20, "@")).replace(b'"@"', b"[" * 700 + b"]" * 700)
    assert "left out" not in warnings(whole + half + b"\n")
    [error] = _outcomes(tmp_path / "deep.json", b"[" * 10_000 + b"]" * 10_000)
    assert str(error).endswith("deep.json: the JSON is nested too deeply to be read")
    [error] = _outcomes(tmp_path / "nul.jsonl", bytes(4096))
    assert "nothing but NUL bytes" in str(error)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    one, two, three, _ = made.chat_log()
    path.write_bytes(made.jsonl([one, two, {"note": "x" * 600_000}, three]))  # more than is read ahead
    outcomes = convert(path, tmp_path / "out")
    assert isinstance(next(outcomes), Summary)
    path.write_bytes(b"{}\n")
    [error] = list(outcomes)
    assert isinstance(error, TraceError) and "the file was changed while it was read" in str(error)

    path.write_bytes(made.jsonl(made.claude_session()))
    probe = Probe(path)
    with path.open("ab") as file:
        file.write(made.jsonl(made.claude_session()) * 3)
    assert len(list(probe.records())) == len(list(probe.located())) == len(made.claude_session())
    probe.close()


def test_values_that_are_no_json_elsewhere() -> None:
    assert loads(b'{"a":NaN,"b":-Infinity,"c":"NaN of 1e999"}') == {"a": None, "b": None, "c": "NaN of 1e999"}
    assert loads(b'["\\ud800x", 123456789012345678901234567890, 9223372036854775807]')[1:] == [
        1.2345678901234568e29,
        2**63 - 1,
    ]
    assert (
        orjson.dumps(loads(b'["\\ud800", 1e999, -9223372036854775809]'))
        == b'["?",null,-9.223372036854776e+18]'
    )
    assert [as_int(value) for value in (True, 1e30, "--5", "-5", 2.0, "12345678901234567890123")] == [
        None,
        None,
        None,
        -5,
        2,
        None,
    ]
    with pytest.raises(ValueError):
        loads(b"[" * 100_000)


@pytest.mark.parametrize(
    "columns", ["id, data", "id, summary, data", "id, summary, data_type, data, parent_id, extra"]
)
def test_a_thread_store_of_another_schema(columns: str, tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    connection = sqlite3.connect(path)
    names = columns.split(", ")
    connection.execute(f"CREATE TABLE threads ({columns})")
    for number, pack in enumerate((bytes, zstandard.compress)):
        row = {"id": f"t{number}", "data": pack(orjson.dumps(made.zed_thread()))}
        connection.execute(
            f"INSERT INTO threads VALUES ({', '.join('?' for _ in names)})", [row.get(n) for n in names]
        )
    connection.commit()
    connection.close()
    assert (
        _counts(list(convert(path, tmp_path / "out"))) == [("zed-thread", 3, 4, 1)] * 2
        or _counts(list(convert(path, tmp_path / "out"))) == [("zed-threads-db", 3, 4, 1)] * 2
    )


def _store(path: Path, rows: list[tuple[Any, ...]], more: str = "") -> Path:
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE threads (id, parent_id, updated_at, data{more}")
    connection.executemany("INSERT INTO threads VALUES (?, ?, '2026', ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_threads_that_stand_below_each_other_are_imported_with_a_warning(tmp_path: Path) -> None:
    thread = orjson.dumps(made.zed_thread())
    circle = [("a", "b", thread), ("b", "a", thread), ("c", "c", thread), ("d", "b", thread)]
    chain = [(f"n{n}", f"n{n - 1}" if n else None, thread) for n in range(12)]
    found = list(convert(_store(tmp_path / "t.db", circle + chain, ")"), tmp_path / "out"))
    summaries = [outcome for outcome in found if isinstance(outcome, Summary)]
    assert sorted((s.threads, s.turns) for s in summaries) == [(1, 3), (3, 9), (12, 36)]
    assert sum("stands below itself" in " ".join(s.warnings) for s in summaries) == 2


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstandard.compress])
def test_a_packed_thread_store_and_one_without_rowids(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    thread = orjson.dumps(made.zed_thread())
    more = ", PRIMARY KEY (id)) WITHOUT ROWID"
    plain = _store(tmp_path / "plain.db", [("a", None, thread), ("b", "a", b"broken")], more).read_bytes()
    [summary] = _outcomes(tmp_path / "threads.db", pack(plain))
    assert isinstance(summary, Summary) and (summary.format, summary.turns) == ("zed-threads-db", 3)
    assert "a subagent is left out (thread b is damaged" in " ".join(summary.warnings)


def test_rows_without_data_with_odd_ids_and_ids_used_twice(tmp_path: Path) -> None:
    thread = orjson.dumps(made.zed_thread())
    rows = [("a", None, thread), ("a", None, thread), (7, None, thread), (None, None, thread)]
    found = list(convert(_store(tmp_path / "t.db", [*rows, ("e", None, b"")], ")"), tmp_path / "out"))
    assert [o.turns for o in found if isinstance(o, Summary)] == [3] * 4
    assert [str(o).partition(": ")[2] for o in found if isinstance(o, TraceError)] == [
        "thread e holds no data"
    ]


def test_a_row_that_unpacks_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1 GiB"):
        unpacked_zstd(zstandard.compress(bytes(1 << 20)), most=1 << 16)
    assert unpacked_zstd(zstandard.compress(b"a" * 70_000)[:-4])[:3] in (b"", b"aaa")


def test_a_thread_store_that_is_open_elsewhere_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE threads (id, summary, updated_at, data_type, data)")
    row = ("t", "Title", "2026-01-01", "json", orjson.dumps(made.zed_thread()))
    connection.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.execute("BEGIN IMMEDIATE")
    try:
        assert _counts(list(convert(path, tmp_path / "out"))) == [("zed-threads-db", 3, 4, 1)]
    finally:
        connection.rollback()
        connection.close()
