"""Native traces: what is written is read back, and damage is named."""

from __future__ import annotations

import resource
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.errors import TraceError
from replayer.traces.reader import Trace, migrate, records
from replayer.traces.records import encode
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Context,
    Fidelity,
    Header,
    Item,
    OpaqueItem,
    ReasoningItem,
    Source,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    ToolRun,
    Turn,
    UserItem,
)
from replayer.traces.storage import ZstdSource, open_source
from replayer.traces.writer import TraceWriter
from tests.generate import long_session

HEADER = Header(trace_id="t", source=Source(format="test"), fidelity=Fidelity(text="authored"))


def _small(path: Path) -> Path:
    with TraceWriter(path, HEADER) as writer:
        ask = writer.add_item(UserItem(id=0, content="hi"))
        call = writer.add_item(ToolCallItem(id=0, call_id="c1", name="ls", arguments='{"p": 1}'))
        writer.add_turn(context=[ask], produced=[call])
        result = writer.add_item(ToolResultItem(id=0, call_id="c1", content="a\nb"))
        writer.add_tool_run(ToolRun(call=call, result=result, exit_code=0))
        done = writer.add_item(AssistantItem(id=0, text="ok"))
        writer.add_turn(context=Context(base=0, keep=2, append=(result,)), produced=[done])
    return path


def test_contexts_are_what_was_sent(tmp_path: Path) -> None:
    with Trace.open(_small(tmp_path / "t.jsonl")) as trace:
        assert trace.context(0) == (0,)
        assert trace.context(1) == (0, 1, 2)
        assert [type(trace.item(i)) for i in trace.context(1)] == [UserItem, ToolCallItem, ToolResultItem]
        assert trace.complete and not trace.torn
        assert trace.item(1) == ToolCallItem(
            id=1, call_id="c1", name="ls", arguments='{"p": 1}', parsed={"p": 1}
        )
        assert trace.tool_runs[0].exit_code == 0


def test_equal_items_are_stored_once(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl", HEADER) as writer:
        assert writer.add_item(UserItem(id=5, content="go on")) == writer.add_item(
            UserItem(id=9, content="go on")
        )


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_generated_session_reads_back(tmp_path: Path, suffix: str) -> None:
    path = long_session(tmp_path / f"long.jsonl{suffix}", turns=30, tokens=400_000)
    with Trace.open(path) as trace:
        assert len(trace.turns) == 30
        last = trace.context(29)
        assert trace.context(3) == last[: len(trace.context(3))]
        size = sum(len(str(trace.item(i))) for i in last)
        assert 0.8 * 1_600_000 < size < 1.4 * 1_600_000
        assert [located.record for located in records(path) if isinstance(located.record, Turn)] == list(
            trace.turns
        )


def test_a_compressed_trace_has_frames_that_are_read_alone(tmp_path: Path) -> None:
    path = long_session(tmp_path / "long.jsonl.zst", turns=20, tokens=600_000)
    source = open_source(path)
    assert isinstance(source, ZstdSource) and source.frames > 2
    plain = "".join(line.decode() + "\n" for _, line in source.lines())
    assert source.read(source.size - 100, 100).decode() == plain[-100:]
    cut = tmp_path / "cut.jsonl.zst"
    cut.write_bytes(path.read_bytes()[:-9])
    again = open_source(cut)
    assert again.size == source.size
    again.close()
    source.close()


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), TraceWriter(tmp_path / "t.jsonl", HEADER) as writer:
        writer.add_item(UserItem(id=0, content="x"))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_live_trace_loses_only_its_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    writer = TraceWriter(path, HEADER, live=True)
    first = writer.add_item(UserItem(id=0, content="one"))
    writer.add_turn(context=[first])
    writer.add_item(UserItem(id=0, content="two"))
    writer.discard()
    path.write_bytes(path.read_bytes()[:-5])
    with Trace.open(path) as trace:
        assert trace.torn and not trace.complete
        assert trace.item_count == 1 and trace.context(0) == (first,)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken\n", "line 3: not JSON"),
        (b'{"type":"dance"}\n', "line 3: unknown record type 'dance'"),
        (b"[]\n", 'line 3: no record: expected an object with a "type"'),
        (b'{"type":"item","id":1,"kind":"user"}\n', "line 3: user.content: Field required"),
    ],
)
def test_damage_is_named_with_file_and_line(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(encode(HEADER) + encode(UserItem(id=0, content="x")) + line + b"\n")
    with pytest.raises(TraceError) as caught, Trace.open(path) as trace:
        trace.item(1)
    assert str(caught.value).startswith(f"{path}: {reason}")


def test_headers_of_other_files_and_of_the_future(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"type":"session_meta"}\n')
    with pytest.raises(TraceError, match="not a replayer trace"):
        Trace.open(path)
    path.write_bytes(encode(HEADER).replace(b'"schema":1', b'"schema":99'))
    with pytest.raises(TraceError, match="update replayer"):
        Trace.open(path)
    path.write_bytes(b"")
    with pytest.raises(TraceError, match="empty"):
        Trace.open(path)
    with pytest.raises(TraceError, match="No such file"):
        Trace.open(tmp_path / "absent.jsonl")


_text = st.text(max_size=40)
_parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": _text}), max_size=2).map(tuple)
_content = st.one_of(_text, _parts)
_items = st.one_of(
    st.builds(SystemItem, id=st.just(0), text=_text),
    st.builds(UserItem, id=st.just(0), content=_content),
    st.builds(AssistantItem, id=st.just(0), text=_text),
    st.builds(ReasoningItem, id=st.just(0), text=_text, opaque=st.none() | _text),
    st.builds(
        ToolCallItem, id=st.just(0), call_id=_text, name=_text, arguments=_text, freeform=st.booleans()
    ),
    st.builds(ToolResultItem, id=st.just(0), call_id=_text, content=_content, is_error=st.booleans()),
    st.builds(CompactionItem, id=st.just(0), text=_text),
    st.builds(
        OpaqueItem,
        id=st.just(0),
        record=st.dictionaries(_text, st.integers(-(2**53), 2**53) | _text, max_size=3),
    ),
)


def _bare(item: Item) -> AnyItem:
    return replace(item, id=0, **({"parsed": None} if isinstance(item, ToolCallItem) else {}))  # type: ignore[return-value, arg-type]


@settings(max_examples=60, deadline=None)
@given(st.lists(_items, min_size=1, max_size=12), st.data())
def test_what_is_written_is_read(items: list[AnyItem], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / data.draw(st.sampled_from(["t.jsonl", "t.jsonl.zst"]))
        expected: list[tuple[int, ...]] = []
        outputs: dict[int, tuple[int, ...]] = {}
        with TraceWriter(path, HEADER) as writer:
            ids = [writer.add_item(item) for item in items]
            pick = st.lists(st.sampled_from(ids), max_size=5).map(tuple)
            for number in range(data.draw(st.integers(1, 6))):
                append, produced = data.draw(pick), data.draw(pick)
                if number and data.draw(st.booleans()):
                    base = data.draw(st.integers(0, number - 1))
                    before = expected[base] + outputs[base]
                    keep = data.draw(st.integers(0, len(before)))
                    context = Context(base=base, keep=keep, append=append)
                    expected.append(before[:keep] + append)
                else:
                    context = Context(append=append)
                    expected.append(append)
                outputs[number] = produced
                writer.add_turn(context=context, produced=produced)
        with Trace.open(path) as trace:
            assert [_bare(trace.item(i)) for i in ids] == items
            order = data.draw(st.permutations(range(len(expected))))
            assert {n: trace.context(n) for n in order} == dict(enumerate(expected))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_damage_is_one_sentence_or_a_clean_prefix(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = _small(Path(folder) / data.draw(st.sampled_from(["t.jsonl", "t.jsonl.zst"])))
        whole = path.read_bytes()
        with Trace.open(path) as trace:
            sound = list(trace.items())
        at = data.draw(st.integers(0, len(whole) - 1))
        if data.draw(st.booleans()):
            path.write_bytes(whole[:at])
        else:
            path.write_bytes(whole[:at] + data.draw(st.binary(min_size=1, max_size=3)) + whole[at + 1 :])
        try:
            with Trace.open(path) as trace:
                read = list(trace.items())
                for number in range(len(trace.turns)):
                    trace.context(number)
        except TraceError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
        else:
            assert len(read) <= len(sound) + 1


def test_old_records_pass_through_the_chain_of_converters() -> None:
    chain = {0: lambda r: {**r, "a": 1}, 1: lambda r: {**r, "b": r["a"] + 1}}
    assert migrate({"x": 0}, 0, 2, chain) == {"x": 0, "a": 1, "b": 2}
    assert migrate({"x": 0}, 2, 2, chain) == {"x": 0}
    with pytest.raises(TraceError, match="no converter from schema 2"):
        migrate({}, 0, 3, chain)


def test_the_index_is_small(tmp_path: Path) -> None:
    with Trace.open(long_session(tmp_path / "t.jsonl", turns=200, tokens=50_000)) as trace:
        entries = trace.item_count + len(trace.turns)
        held = sum(
            i.offsets.itemsize * len(i) + i.lengths.itemsize * len(i) for i in (trace._items, trace._turns)
        )
        assert held / entries <= 64


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    writer = TraceWriter(path, HEADER, live=True)
    writer.add_item(UserItem(id=0, content="kept"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, hard))
    try:
        with pytest.raises(TraceError, match="cannot be written"):
            writer.add_item(UserItem(id=0, content="lost " * 100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.close()
    assert path.read_bytes().endswith(b"\n")
    with Trace.open(path) as trace:
        assert [item.content for item in trace.items()] == ["kept"] and not trace.complete  # type: ignore[union-attr]
