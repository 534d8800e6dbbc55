"""`judge` over hand-written exchanges of every fault class and parser family, and over real engines' answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from tests.tools import exchanges

Judged = dict[str, Any]
CAPTURES = Path(__file__).parent.parent / "captures"
BOTH_MODES = ("families", "reasoning", "arguments", "sound", "endings", "pairs")


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Judged]:
    """Run `replayer judge --json` over bodies."""

    def run(request: dict[str, Any], response: bytes, pair: bytes | None = None) -> Judged:
        for name, body in (("q", json.dumps(request).encode()), ("r", response), ("p", pair)):
            if body is not None:
                (tmp_path / name).write_bytes(body)
        beside = ["--pair", str(tmp_path / "p")] if pair is not None else []
        assert main(["judge", str(tmp_path / "q"), str(tmp_path / "r"), "--json", *beside]) == 0
        document: Judged = json.loads(capsys.readouterr().out)
        return document

    return run


def written(*files: str) -> list[Any]:
    return [
        pytest.param(exchange, id=f"{name}-{exchange['name']}")
        for name in files
        for exchange in exchanges.load(name)
    ]


def check(document: Judged, expect: dict[str, Any]) -> None:
    fatal = {(fault["class"], fault["blame"]) for fault in document["faults"] if fault["fatal"]}
    warnings = {fault["class"] for fault in document["faults"] if not fault["fatal"]}
    assert fatal == set(expect["fatal"].items()), document["faults"]
    assert warnings == set(expect["warnings"]), document["faults"]
    assert document["usable"] is expect["usable"]
    paths = {fault["path"] for fault in document["faults"]}
    assert paths >= set(expect.get("paths", []))
    assert expect.get("mentions", "") in json.dumps([fault["message"] for fault in document["faults"]])


@pytest.mark.parametrize("exchange", written(*BOTH_MODES))
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "no-stream"])
def test_written_exchange(exchange: dict[str, Any], stream: bool, judged: Callable[..., Judged]) -> None:
    reply, pair = exchange["reply"], exchange.get("pair")
    one, other = (exchanges.streamed, exchanges.whole) if stream else (exchanges.whole, exchanges.streamed)
    document = judged(exchanges.request(exchange), one(reply), other(pair) if pair else None)
    check(document, exchange["expect"])
    assert [call["arguments_raw"] for call in document["tool_calls"]] == [
        call["arguments"] for call in reply.get("tool_calls", [])
    ]


@pytest.mark.parametrize("exchange", written("streams"))
def test_breach_of_the_streaming_protocol(exchange: dict[str, Any], judged: Callable[..., Judged]) -> None:
    body = exchanges.sse(exchange["stream"], done=exchange.get("done", True))
    check(judged(exchanges.request(exchange), body), exchange["expect"])


@pytest.mark.parametrize("exchange", written("bodies"))
def test_body_that_is_not_streamed(exchange: dict[str, Any], judged: Callable[..., Judged]) -> None:
    check(judged(exchanges.request(exchange), json.dumps(exchange["body"]).encode()), exchange["expect"])


# The table "The same text, four verdicts": one row a case, the columns in the order vLLM streamed and not,
# SGLang streamed and not. `alone` is what one exchange supports, `paired` what both modes show.
VLLM, SGLANG = "vllm-0.32-cpu/plain", "sglang-0.5.23-cpu"
COLUMNS = ((VLLM, "stream"), (VLLM, "nonstream"), (SGLANG, "stream"), (SGLANG, "nonstream"))
MISSPELT = "missing_parameter unexpected_parameter"
ROWS: dict[str, tuple[tuple[str, str], ...]] = {
    "auto-forced-badjson": (
        ("arguments_not_json", "arguments_not_json stream_differs"),
        ("leaked_markup", "leaked_markup stream_differs"),
        ("", "silent_repair stream_differs"),
        ("leaked_markup", "leaked_markup silent_repair stream_differs"),
    ),
    "auto-forced-truncated": (
        ("truncated", "truncated stream_differs"),
        ("truncated leaked_markup", "truncated leaked_markup stream_differs"),
        ("truncated", "truncated silent_repair stream_differs"),
        ("truncated leaked_markup", "truncated leaked_markup silent_repair stream_differs"),
    ),
    "required-truncated": (
        ("truncated", "truncated stream_differs"),
        ("truncated leaked_markup", "truncated leaked_markup stream_differs"),
        ("truncated", "truncated stream_differs"),
        ("truncated leaked_markup", "truncated leaked_markup stream_differs"),
    ),
    "auto-forced-unknowntool": (
        ("unknown_tool", "unknown_tool"),
        ("unknown_tool", "unknown_tool"),
        ("leaked_markup", "leaked_markup silent_drop stream_differs"),
        ("empty_turn", "empty_turn silent_drop stream_differs"),
    ),
    "auto-forced-missingarg": ((MISSPELT, MISSPELT),) * 4,
    "auto-forced-noclose": (("", ""),) * 4,
    "auto-forced-parallel2": (("", ""),) * 4,
    "auto-forced-wellformed": (("", ""),) * 4,
    "auto-forced-wrongformat": (("leaked_markup", "leaked_markup"),) * 4,
}
USABLE = {"auto-forced-noclose", "auto-forced-parallel2", "auto-forced-wellformed", "auto-forced-wrongformat"}


def captured(stem: Path) -> tuple[dict[str, Any], bytes]:
    body = next(path for path in stem.parent.glob(f"{stem.name}.response.*"))
    return json.loads(stem.with_name(f"{stem.name}.request.json").read_bytes()), body.read_bytes()


@pytest.mark.parametrize("column", range(4), ids=[f"{folder}-{mode}" for folder, mode in COLUMNS])
@pytest.mark.parametrize("row", ROWS)
def test_the_same_text_four_verdicts(row: str, column: int, judged: Callable[..., Judged]) -> None:
    folder, mode = COLUMNS[column]
    other = "nonstream" if mode == "stream" else "stream"
    request, body = captured(CAPTURES / folder / f"tool-{row}-{mode}")
    _, pair = captured(CAPTURES / folder / f"tool-{row}-{other}")
    alone, paired = judged(request, body), judged(request, body, pair)
    assert {fault["class"] for fault in alone["faults"]} == set(ROWS[row][column][0].split())
    assert {fault["class"] for fault in paired["faults"]} == set(ROWS[row][column][1].split())
    silently_repaired = ROWS[row][column] == ("", "silent_repair stream_differs")
    assert alone["usable"] is (row in USABLE or silently_repaired)
    assert paired["usable"] is (row in USABLE)


def test_the_pair_settles_who_broke_the_arguments(judged: Callable[..., Judged]) -> None:
    request, body = captured(CAPTURES / VLLM / "tool-auto-forced-badjson-stream")
    _, pair = captured(CAPTURES / VLLM / "tool-auto-forced-badjson-nonstream")
    assert judged(request, body)["faults"][0]["blame"] == "unknown"
    assert judged(request, body, pair)["faults"][0]["blame"] == "model"


@pytest.mark.parametrize(
    ("stem", "pair", "faults"),
    [
        # vLLM 0.21 finishes with `tool_calls` though max_tokens cut the call.
        ("vllm-0.21.0-h200/spec-ngram/tool-auto-forced-truncated-stream", None, {("truncated", "budget")}),
        # ik_llama.cpp finishes with `stop` at max_tokens.
        ("ik_llama.cpp/10_stream_text", None, {("truncated", "budget")}),
        # SGLang 0.5.12 wrote `}e}` into the stream where the model wrote `}}`.
        (
            "sglang-0.5.12-h200/nospec/tool-required-stream",
            "sglang-0.5.12-h200/nospec/tool-required-nonstream",
            {("truncated", "budget"), ("arguments_not_json", "parser"), ("stream_differs", "engine")},
        ),
        (
            "sglang-0.5.23-cpu/tool-required-nonstream",
            None,
            {("truncated", "budget"), ("arguments_not_object", "model")},
        ),
        (
            "sglang-0.5.12-h200/nospec/err-toolcall-args-invalid-in-history",
            None,
            {("history_rejected", "input")},
        ),
        ("vllm-0.32-cpu/plain/repetition-detect-stream", None, {("collapsed", "model")}),
    ],
)
def test_what_real_engines_did(
    stem: str, pair: str | None, faults: set[tuple[str, str]], judged: Callable[..., Judged]
) -> None:
    request, body = captured(CAPTURES / stem)
    document = judged(request, body, captured(CAPTURES / pair)[1] if pair else None)
    assert {(fault["class"], fault["blame"]) for fault in document["faults"]} == faults
    assert not document["usable"]


def test_the_document_holds_the_promised_keys(judged: Callable[..., Judged]) -> None:
    request, body = captured(CAPTURES / VLLM / "tool-auto-forced-wellformed-stream")
    document = judged(request, body)
    assert document["tool_calls"] == [
        {
            "id": document["tool_calls"][0]["id"],
            "name": "Bash",
            "arguments_raw": '{"command": "ls /tmp"}',
            "arguments": {"command": "ls /tmp"},
            "valid": True,
        }
    ]
    assert (document["finish_reason"], document["content"]) == ("tool_calls", "I will look.\n")
    assert set(document["usage"]) == {"prompt_tokens", "cached_tokens", "completion_tokens"}
    assert document["usage"]["completion_tokens"] == 38


def test_a_mode_that_is_not_so_is_no_refusal_of_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stem = CAPTURES / VLLM / "tool-auto-forced-parallel2"
    streamed, whole = f"{stem}-stream.response.sse", f"{stem}-nonstream.response.json"
    for flag, body in (("--no-stream", streamed), ("--stream", whole)):
        assert main(["judge", f"{stem}-stream.request.json", body, flag, "--json"]) == 0
        faults = json.loads(capsys.readouterr().out)["faults"]
        assert [(fault["class"], fault["blame"]) for fault in faults] == [("protocol", "engine")]


def test_the_readable_form_names_faults_and_calls(capsys: pytest.CaptureFixture[str]) -> None:
    stem = CAPTURES / VLLM / "tool-auto-forced-missingarg-stream"
    assert main(["judge", f"{stem}.request.json", f"{stem}.response.sse"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("NOT usable  (streamed, finish reason tool_calls)")
    assert "fault   missing_parameter call 0 [model] 'command' is missing" in told
    assert (
        "warning unexpected_parameter call 0 [model] 'comand' is not a parameter; nearest is 'command'"
        in told
    )


@pytest.mark.parametrize(
    ("request_text", "said"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "is not a request of any wire: it is not a JSON object"),
        ('{"prompt": "x"}', "`messages` (or `input`) is missing"),
    ],
)
def test_a_request_that_is_none_is_refused_in_one_sentence(
    request_text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if request_text is not None:
        (tmp_path / "q.json").write_text(request_text)
    assert main(["judge", str(tmp_path / "q.json"), str(tmp_path / "r")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and said in told.err and told.err.count("\n") == 1 and "q.json" in told.err
