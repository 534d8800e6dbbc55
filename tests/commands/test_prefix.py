"""`replayer prefix` on files, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RULES = "You are a coding agent. " * 20


def requests(clock: bool) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    made = []
    for turn in range(4):
        system = f"{RULES}It is {9 + turn}:30 now." if clock else RULES
        made.append({"model": "m", "messages": [{"role": "system", "content": system}, *history]})
        history = [
            *history,
            {"role": "assistant", "content": f"Reading part {turn}."},
            {"role": "user", "content": "Go on. " * 20},
        ]
    return made


def write(path: Path, entries: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return path


def prefix(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replayer", "prefix", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_json_names_the_divergence(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", requests(clock=True))
    done = prefix(file, "--json", "--tokenizer", "characters", "--block-size", "64")
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (report["requests"], report["token_source"]) == (4, "characters")
    assert list(report["ideal_by_block_size"]) == ["1", "16", "64"]
    assert (
        report["ideal_hit_rate"] == report["ideal_by_block_size"]["64"] < report["ideal_by_block_size"]["1"]
    )
    assert [entry["request"] for entry in report["divergences"]] == [1, 2, 3]
    first = report["divergences"][0]
    assert (first["message_index"], first["path"], first["class"]) == (
        0,
        "messages[0].content",
        "clock_or_date",
    )
    assert first["token"] == len("<|im_start|>system\n" + RULES + "It is ")
    assert "It is 9:30 now." in first["excerpt_before"]
    assert "It is 10:30 now." in first["excerpt_after"]
    assert report["turns"][1]["recomputed"] == first["lost_tokens"] + first["token"] % 64
    assert (
        sum(report["turns"][1][part] for part in ("reused", "recomputed", "new"))
        == report["turns"][1]["prompt_tokens"]
    )


def test_a_healthy_file_has_no_divergence(tmp_path: Path) -> None:
    report = json.loads(prefix(write(tmp_path / "r.jsonl", requests(clock=False)), "--json").stdout)
    assert report["divergences"] == []
    assert report["ideal_hit_rate"] > 0.5
    assert report["verdict"].startswith("healthy")


def test_a_shipped_trace_is_drawn_turn_by_turn() -> None:
    done = prefix("fix-failing-test", "--tokenizer", "characters")
    assert done.returncode == 0
    assert done.stdout.count("░") > 8
    assert "ideal reuse: " in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("healthy")


def test_a_context_manager_is_judged_by_what_it_sends(tmp_path: Path) -> None:
    manager = "import sys,json; m=json.load(sys.stdin); m[1]['content']+=str(len(m)); json.dump(m,sys.stdout)"
    report = json.loads(
        prefix("fix-failing-test", "--json", "--transform", f'{sys.executable} -c "{manager}"').stdout
    )
    assert {(e["class"], e["message_index"]) for e in report["divergences"]} == {("message_rewritten", 1)}
    assert len(report["divergences"]) == report["requests"] - 1


def test_a_new_salt_for_every_request_shares_nothing(tmp_path: Path) -> None:
    entries = [{**request, "cache_salt": f"salt-{n}"} for n, request in enumerate(requests(clock=False))]
    report = json.loads(prefix(write(tmp_path / "r.jsonl", entries), "--json").stdout)
    assert report["ideal_hit_rate"] == 0
    assert [(e["class"], e["path"], e["offset"]) for e in report["divergences"]] == [
        ("random_id_or_hash", "cache_salt", 5)
    ] * 3


def test_what_an_engine_reported_is_set_beside_the_ideal(tmp_path: Path) -> None:
    entries = [
        {
            "request": request,
            "response": {"usage": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 0}}},
        }
        for request in requests(clock=False)
    ]
    report = json.loads(prefix(write(tmp_path / "r.jsonl", entries), "--json").stdout)
    assert report["reported_tokens"] == 0
    assert {entry["class"] for entry in report["divergences"]} == {"cache_off"}


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    entries = [
        {
            "messages": [
                {"role": "system", "content": f"\x1b[31m{n}\x07{'x' * 50}"},
                {"role": "user", "content": "a"},
            ]
        }
        for n in "ab"
    ]
    done = prefix(write(tmp_path / "r.jsonl", entries))
    assert "\x1b" not in done.stdout
    assert "\\x1b[31m" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no request"),
        ('{"messages": [}\n', "line 1 is not JSON"),
        ('{"messages": []}\n{"prompts": 1}\n', 'line 2 is not a chat request: it needs "messages"'),
        ("[1]\n", "line 1 is not a chat request"),
    ],
)
def test_bad_files_get_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text, "utf-8")
    done = prefix(file, "--tokenizer", "characters")
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.jsonl"], "no such file"),
        (["fix-failing-test", "--tokenizer", "nothing"], "no such file or encoding"),
        (["fix-failing-test", "--tokenizer", "missing.gguf"], "no such file"),
        (["fix-failing-test", "--block-size", "0"], "1 or more"),
        (["fix-failing-test", "--dialect", "zedd"], "zed"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments: list[str], words: str) -> None:
    done = prefix(*arguments)
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]


def test_requests_of_messages_are_read_and_the_attribution_header_has_a_name(tmp_path: Path) -> None:
    lines = []
    for number, cch in enumerate(("abcde", "f0123")):
        billing = f"x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli; cch={cch};"
        system = [{"type": "text", "text": billing}, {"type": "text", "text": "You are Claude Code. " * 40}]
        said = [{"role": "user", "content": [{"type": "text", "text": "go on", "cache_control": {}}]}]
        asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}, *said]
        lines.append(json.dumps({"model": "m", "system": system, "messages": asked[: 1 + 2 * number]}))
    path = tmp_path / "claude.jsonl"
    path.write_text("\n".join(lines))
    (place,) = json.loads(prefix(path, "--json").stdout)["divergences"]
    assert (place["class"], place["message_index"]) == ("attribution_header", 0)
    assert "attribution header of Claude Code" in place["detail"]


@pytest.mark.parametrize(
    ("reads", "cause"),
    [
        ([0, 400, 400, 400, 400], "cache_marks_moved"),
        # the pattern of sglang #36877: marks that moved and cost nothing
        pytest.param([0, 400, 2400, 400, 4200], "unknown", marks=pytest.mark.slow),
        pytest.param([0, 1500, 2400, 3300, 4200], None, marks=pytest.mark.slow),
    ],
)
def test_cache_marks_that_move_are_the_last_cause_that_is_left(
    reads: list[int], cause: str | None, tmp_path: Path
) -> None:
    lines, said = [], []
    for number, read in enumerate(reads):
        block = {"type": "text", "text": f"Question {number}. " + "What is that? " * 280}
        mark = {"cache_control": {"type": "ephemeral"}}
        asked = [*said, {"role": "user", "content": [{**block, **mark}]}]
        said += [
            {"role": "user", "content": [block]}, {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}
        ]  # fmt: skip
        whole = 600 + 900 * (number + 1)
        usage = {"input_tokens": whole - read, "cache_read_input_tokens": read, "output_tokens": 2}
        answer = {"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
        request = {"model": "m", "max_tokens": 9, "system": "You help. " * 200, "messages": asked}
        lines.append(json.dumps({"request": request, "response": {**answer, "usage": usage}}))
    path = tmp_path / "claude.jsonl"
    path.write_text("\n".join(lines))
    found = [entry for entry in json.loads(prefix(path, "--json").stdout)["divergences"]]
    assert {entry["class"] for entry in found[1:]} == ({cause} if cause else set()), found
    if cause == "unknown":
        assert "cache_control left messages[" in found[-1]["detail"]
        assert "claude-code:cache=off" in found[-1]["detail"]
