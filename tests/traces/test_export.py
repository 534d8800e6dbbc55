"""What an export keeps: import(export(t)) equals t under the projection that the exporter's docstring states."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from replayer.traces.convert import convert
from replayer.traces.export import export
from replayer.traces.reader import Trace
from replayer.traces.schema import AnyItem, ToolCallItem
from replayer.traces.secrets import redactor
from replayer.traces.summary import Summary, check
from tests.generate import long_session
from tests.traces import samples as made


def _again(trace: Trace, to: str, folder: Path) -> Trace:
    path = folder / f"exported-{to}"
    export(trace, to, path)
    [summary] = convert(path, folder / "again")
    assert isinstance(summary, Summary)
    return Trace.open(summary.trace)


def _said(item: AnyItem) -> tuple[str, ...]:
    if isinstance(item, ToolCallItem):
        return ("tool_call", item.call_id, item.name, item.arguments)
    if item.kind == "tool_result":
        return ("tool_result", item.call_id, str(item.content))
    return (item.kind, str(getattr(item, "content", None) or getattr(item, "text", "")))


def _turns(trace: Trace) -> list[tuple[list[tuple[str, ...]], list[tuple[str, ...]]]]:
    return [
        ([_said(trace.item(i)) for i in trace.context(t.id)], [_said(trace.item(i)) for i in t.produced])
        for t in trace.turns
    ]


def test_native_to_native_is_identical(tmp_path: Path) -> None:
    source = long_session(tmp_path / "long.jsonl", turns=12, tokens=4000, seed=2)
    [summary] = convert(source, tmp_path / "out")
    assert isinstance(summary, Summary)
    assert Path(summary.trace).read_bytes() == source.read_bytes()


def test_openai_keeps_prompts_replies_usage_and_times(tmp_path: Path) -> None:
    source = long_session(tmp_path / "long.jsonl", turns=12, tokens=4000, seed=2)
    with Trace.open(source) as trace, _again(trace, "openai", tmp_path) as again:
        assert _turns(again) == _turns(trace)
        assert [t.usage and t.usage.prompt_tokens for t in again.turns] == [
            t.usage and t.usage.prompt_tokens for t in trace.turns
        ]
        assert [t.times and t.times.ended for t in again.turns] == [
            t.times and t.times.ended for t in trace.turns
        ]
        assert next(iter(again.tool_sets.values())).tools == next(iter(trace.tool_sets.values())).tools


def test_atif_keeps_steps_results_error_flags_and_metrics(tmp_path: Path) -> None:
    with Trace.open(long_session(tmp_path / "long.jsonl", turns=12, tokens=4000, seed=5)) as trace:
        with _again(trace, "atif", tmp_path) as again:
            assert _turns(again) == _turns(trace)
            failed = [
                [i for i in t.items() if i.kind == "tool_result" and i.is_error] for t in (trace, again)
            ]
            assert len(failed[0]) == len(failed[1]) > 0
            assert [t.usage and t.usage.completion_tokens for t in again.turns] == [40] * 12
        document = orjson.loads((tmp_path / "exported-atif").read_bytes())
        assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))


@pytest.mark.parametrize("file", ["claude.txt", "rollout.log", "thread.json", "trajectory.json", "v1.json"])
def test_subagents_and_odd_calls_survive_atif(file: str, tmp_path: Path) -> None:
    [sample] = [sample for sample in made.samples(tmp_path) if sample.file == file]
    path = tmp_path / file
    path.write_bytes(sample.data)
    [summary] = convert(path, tmp_path / "first")
    assert isinstance(summary, Summary)
    with Trace.open(summary.trace) as trace, _again(trace, "atif", tmp_path) as again:
        produced = [[_said(t.item(i))[:3] for turn in t.turns for i in turn.produced] for t in (trace, again)]
        kept = [[said for said in side if said[1]] for side in produced]
        assert sorted(kept[0]) == sorted(kept[1])
        assert len({turn.thread for turn in again.turns}) == len({turn.thread for turn in trace.turns})


def test_mooncake_keeps_lengths_and_sharing(tmp_path: Path) -> None:
    source = tmp_path / "m.jsonl"
    source.write_bytes(made.jsonl(made.MOONCAKE))
    [summary] = convert(source, tmp_path / "first")
    assert isinstance(summary, Summary)
    with Trace.open(summary.trace) as trace, _again(trace, "mooncake", tmp_path) as again:
        assert [turn.tokens for turn in again.turns] == [turn.tokens for turn in trace.turns]
        assert [turn.times for turn in again.turns] == [turn.times for turn in trace.turns]
    with Trace.open(long_session(tmp_path / "long.jsonl", turns=8, tokens=9000)) as trace:
        export(trace, "mooncake", tmp_path / "out.jsonl")
        lines = [orjson.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
        for before, after in pairwise(lines):
            full = max(1, before["input_length"] // 512)
            assert after["hash_ids"][: full - 1] == before["hash_ids"][: full - 1]


def test_secrets_are_removed_from_an_export(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "export KEY=sk-proj-" + "a1" * 20 + " in /Users/mary/x"}
    source = tmp_path / "log.jsonl"
    source.write_bytes(
        made.jsonl([{"request": made.request(made.ASK), "response": made.completion(message, 5)}])
    )
    [summary] = convert(source, tmp_path / "first")
    assert isinstance(summary, Summary)
    with Trace.open(summary.trace) as trace:
        export(trace, "openai", tmp_path / "out.jsonl", redact=redactor())
    text = (tmp_path / "out.jsonl").read_text()
    assert "[redacted API key]" in text and "mary" not in text


def test_a_cleaned_native_copy_is_sound_and_holds_no_secret(tmp_path: Path) -> None:
    secret = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK==\n-----END RSA PRIVATE KEY-----"
    message = {"role": "assistant", "content": f"key: {secret} at /home/mary/x"}
    source = tmp_path / "log.jsonl"
    source.write_bytes(
        made.jsonl([{"request": made.request(made.ASK), "response": made.completion(message, 5)}])
    )
    [summary] = convert(source, tmp_path / "first")
    assert isinstance(summary, Summary)
    assert any("private key" in warning for warning in check(Path(summary.trace)).warnings)
    with Trace.open(summary.trace) as trace:
        export(trace, "native", tmp_path / "clean.jsonl", redact=redactor())
        export(trace, "native", tmp_path / "same.jsonl")
    assert (tmp_path / "same.jsonl").read_bytes() == Path(summary.trace).read_bytes()
    assert not check(tmp_path / "clean.jsonl").warnings
    text = (tmp_path / "clean.jsonl").read_text()
    assert "MIIE" not in text and "mary" not in text and "[redacted private key] at /home/user/x" in text


def test_another_source_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    for folder, text in (("a", "one"), ("b", "two"), ("a", "one")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "full.jsonl").write_bytes(
            made.jsonl([{"messages": [{"role": "user", "content": text}, made.DONE]}])
        )
        list(convert(tmp_path / folder / "full.jsonl", tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "full-2.trace.jsonl",
        "full.trace.jsonl",
    ]
