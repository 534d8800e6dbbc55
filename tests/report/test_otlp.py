"""`report --otlp`: a run as OTLP JSON, read by OpenTelemetry's own types and by `replayer import`."""

from __future__ import annotations

import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto_json.collector.metrics.v1 import metrics_service
from opentelemetry.proto_json.collector.trace.v1 import trace_service

from replayer.cli import main
from replayer.traces.reader import Trace
from tests.generate import long_session
from tests.journals import lines_of, write_lines

LANES = (
    "--engine",
    "a=simulated,seed=1",
    "--engine",
    "b=simulated,seed=2,fault=unknown_tool@0.5",
    "--max-lag",
    "60000",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("otlp")
    trace = folder / "s.trace.jsonl"
    long_session(trace, turns=8, tokens=800, seed=4)
    words = ["run", "--trace", str(trace), *LANES, "--out", str(folder / "run"), "--plain"]
    assert main(words) == 0
    return folder / "run"


def exported(run: Path, target: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["report", str(run), "--otlp", str(target), *words]) == 0
    return [
        span
        for line in target.read_bytes().splitlines()
        for resource in orjson.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def values(span: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def operations(spans: list[dict[str, Any]]) -> Counter[str]:
    return Counter(values(span)["gen_ai.operation.name"] for span in spans)


def test_a_run_holds_sessions_that_hold_turns(run: Path, tmp_path: Path) -> None:
    spans = exported(run, tmp_path / "o.jsonl")
    by_id = {span["spanId"]: span for span in spans}
    assert operations(spans) == {"invoke_workflow": 1, "invoke_agent": 2, "chat": 16}
    for span in spans:
        parents = {"chat": "invoke_agent", "invoke_agent": "invoke_workflow"}
        parent = parents.get(values(span)["gen_ai.operation.name"])
        if parent is None:
            assert "parentSpanId" not in span
        else:
            above = by_id[span["parentSpanId"]]
            assert values(above)["gen_ai.operation.name"] == parent
            assert int(above["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["endTimeUnixNano"]) <= int(above["endTimeUnixNano"])
    chats = [values(span) for span in spans if span["name"].startswith("chat")]
    assert {chat["gen_ai.response.model"] for chat in chats} == {"simulated"}
    assert len({chat["gen_ai.response.id"] for chat in chats}) == len(chats)
    assert exported(run, tmp_path / "again.jsonl") == spans


def test_verdicts_are_evaluation_events(run: Path, tmp_path: Path) -> None:
    verdicts = [line for line in lines_of(run / "journal.jsonl") if line["type"] == "verdict"]
    faults = Counter(fault["klass"] for line in verdicts for fault in line["faults"])
    usable = Counter("usable" if line["usable"] else "unusable" for line in verdicts)
    found: Counter[str] = Counter()
    for span in exported(run, tmp_path / "o.jsonl"):
        for event in span.get("events", ()):
            assert event["name"] == "gen_ai.evaluation.result"
            found[values(event)["gen_ai.evaluation.score.label"]] += 1
    assert faults["unknown_tool"] and {key: found[key] for key in faults} == faults
    assert {key: found[key] for key in usable} == usable


def test_content_is_written_only_where_it_is_asked_for(run: Path, tmp_path: Path) -> None:
    replies = [line for line in lines_of(run / "journal.jsonl") if line["type"] == "turn_finished"]
    said = {call["arguments"] for line in replies for call in line["tool_calls"]}
    exported(run, tmp_path / "without.jsonl")
    without = (tmp_path / "without.jsonl").read_bytes()
    assert b"messages" not in without and b"explanation" not in without and b"arguments" not in without
    answers = [
        part["arguments"]
        for span in exported(run, tmp_path / "with.jsonl", "--content")
        for message in orjson.loads(values(span).get("gen_ai.output.messages", "[]"))
        for part in message["parts"]
        if part["type"] == "tool_call"
    ]
    assert said and set(answers) == said
    assert main(["report", str(run), "--content"]) == 2


def test_our_own_file_imports_with_equal_counts(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "o.jsonl", "--content")
    assert main(["import", str(tmp_path / "o.jsonl"), "-o", str(tmp_path / "traces")]) == 0
    traces = [Trace.open(path) for path in (tmp_path / "traces").rglob("*.jsonl*")]
    replies = [line for line in lines_of(run / "journal.jsonl") if line["type"] == "turn_finished"]
    made = [trace.item(n).kind for trace in traces for turn in trace.turns for n in turn.produced]
    assert sum(len(trace.turns) for trace in traces) == len(replies) == 16
    assert made.count("tool_call") == sum(len(line["tool_calls"]) for line in replies) > 8


def test_without_content_lengths_and_counts_come_back(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(run, tmp_path / "o.jsonl")
    assert main(["import", str(tmp_path / "o.jsonl"), "-o", str(tmp_path / "traces"), "--json"]) == 0
    found = [orjson.loads(line) for line in capsys.readouterr().out.splitlines()]
    replies = [line for line in lines_of(run / "journal.jsonl") if line["type"] == "turn_finished"]
    assert [one["turns"] for one in found] == [8, 8]
    assert sum(one["tool_calls"] for one in found) == sum(len(line["tool_calls"]) for line in replies)
    assert found[0]["fidelity"]["text"] == "absent" and found[0]["fidelity"]["usage"] == "recorded"
    assert ["left out: 3" in " ".join(one["warnings"]) for one in found] == [True, False]
    turns = [turn for one in found for turn in Trace.open(Path(one["trace"])).turns]
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
        counts = [getattr(turn.usage, name) for turn in turns]
        assert sorted(counts) == sorted(line["usage"][name] for line in replies)
    words = ["run", "--trace", found[0]["trace"], "--engine", "a=simulated", "--plain"]
    assert main([*words, "--max-turns", "2", "--out", str(tmp_path / "again")]) == 0


def test_opentelemetrys_own_types_read_every_line(run: Path, tmp_path: Path) -> None:
    spans = exported(run, tmp_path / "o.jsonl", "--content")
    read = []
    for line in (tmp_path / "o.jsonl").read_text().splitlines():
        request = trace_service.ExportTraceServiceRequest.from_json(line)
        read += [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
    assert [span.name for span in read] == [span["name"] for span in spans]
    assert read[0].span_id.hex() == spans[0]["spanId"] and len(read[0].trace_id) == 16


class Receiver:
    """What it took, as (path, kind, body); what it answers first; whether it reads JSON."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, bytes]] = []
        self.answers: list[bytes] = []
        self.reads_json = True
        self.url = ""

    def spans(self) -> list[bytes]:
        """Ids of all spans, by OpenTelemetry's own types."""
        found = []
        for path, kind, body in self.taken:
            if path == "/v1/traces":
                request = _parsed(kind, body)
                found += [s.span_id for r in request.resource_spans for c in r.scope_spans for s in c.spans]
        return found


def _parsed(kind: str, body: bytes) -> Any:
    if kind == "application/x-protobuf":
        return trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    return trace_service.ExportTraceServiceRequest.from_json(body.decode())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body, kind = self.rfile.read(int(self.headers["Content-Length"])), self.headers["Content-Type"]
            refused = not found.reads_json and kind == "application/json"
            if not refused:
                found.taken.append((self.path, kind, body))
            answer = found.answers.pop(0) if found.answers else b"{}" * found.reads_json
            self.send_response(415 if refused else 200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_receiver_takes_the_export(run: Path, receiver: Receiver) -> None:
    assert main(["report", str(run), "--otlp", receiver.url]) == 0
    assert [path for path, _, _ in receiver.taken] == ["/v1/traces", "/v1/metrics"]
    assert len(set(receiver.spans())) == 19
    receiver.answers.append(b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"full"}}')
    assert main(["report", str(run), "--otlp", receiver.url]) == 3


def test_a_receiver_that_reads_protobuf_only_gets_the_same(
    run: Path, receiver: Receiver, tmp_path: Path
) -> None:
    receiver.reads_json = False
    assert main(["report", str(run), "--otlp", f"{receiver.url}/v1/traces", "--content"]) == 0
    assert {kind for _, kind, _ in receiver.taken} == {"application/x-protobuf"}
    sent = [span["spanId"] for span in exported(run, tmp_path / "o.jsonl", "--content")]
    assert [one.hex() for one in receiver.spans()] == sent


def test_metrics_say_what_the_journal_says(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "o.jsonl")
    text = (tmp_path / "o.metrics.jsonl").read_text()
    request = metrics_service.ExportMetricsServiceRequest.from_json(text)
    found = {m.name: m for r in request.resource_metrics for c in r.scope_metrics for m in c.metrics}
    replies = [line for line in lines_of(run / "journal.jsonl") if line["type"] == "turn_finished"]
    duration = found["gen_ai.client.operation.duration"]
    points = duration.histogram.data_points
    assert duration.unit == "s" and sum(point.count for point in points) == len(replies) == 16
    assert sum(point.sum for point in points) == pytest.approx(sum(r["total_ns"] for r in replies) / 1e9)
    for point in points:
        assert sum(point.bucket_counts) == point.count
        assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    tokens = {
        next(a.value.string_value for a in point.attributes if a.key == "gen_ai.token.type"): point.sum
        for point in found["gen_ai.client.token.usage"].histogram.data_points
        if any(a.value.string_value == "a" for a in point.attributes)
    }
    mine = [reply["usage"] for reply in replies if reply["session"].startswith("a/")]
    assert tokens == {
        "input": sum(usage["prompt_tokens"] for usage in mine),
        "output": sum(usage["completion_tokens"] for usage in mine),
    }
    assert "replayer.usable_turns" in found


@pytest.mark.slow
def test_spans_arrive_while_the_run_goes_on(receiver: Receiver, tmp_path: Path) -> None:
    trace = long_session(tmp_path / "s.trace.jsonl", turns=6, tokens=600, seed=4)
    lane = "a=simulated,seed=2,ttft_ms=800,fault=unknown_tool@0.5"
    words = ["run", "--trace", str(trace), "--engine", lane, "--max-lag", "60000", "--otel", receiver.url]
    assert main([*words, "--out", str(tmp_path / "run"), "--plain"]) == 0
    counts = [len(body) > 100 for path, _, body in receiver.taken if path == "/v1/traces"]
    assert sum(counts) > 2 and receiver.taken[-1][0] == "/v1/metrics"
    live = [one.hex() for one in receiver.spans()]
    after = [span["spanId"] for span in exported(tmp_path / "run", tmp_path / "o.jsonl")]
    assert len(live) == 8 and sorted(live) == sorted(after)


@pytest.mark.slow
def test_a_run_that_is_resumed_sends_what_it_does_then(run: Path, receiver: Receiver, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    whole = lines_of(copy / "journal.jsonl")
    first = next(n for n, line in enumerate(whole) if line["type"] == "session_finished")
    write_lines(copy / "journal.jsonl", whole[: first + 1])
    before = {span["spanId"] for span in exported(copy, tmp_path / "before.jsonl")}
    assert main(["resume", str(copy), "--otel", receiver.url, "--plain"]) == 0
    after = {span["spanId"] for span in exported(copy, tmp_path / "after.jsonl")}
    live = [one.hex() for one in receiver.spans()]
    assert len(live) == len(set(live)) and after - before <= set(live) <= after
    assert main(["resume", str(copy), "--content"]) == 2


@pytest.mark.slow
def test_a_dead_receiver_is_one_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        shown = f"127.0.0.1:{free.getsockname()[1]}"
    url = f"http://user:CANARY@{shown}"
    trace = long_session(tmp_path / "s.trace.jsonl", turns=3, tokens=600, seed=4)
    words = ["run", "--trace", str(trace), "--engine", "a=simulated", "--otel", url, "--plain"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    said = capfd.readouterr().err
    assert (
        said.count("warning") == 1 and f"replayer report {tmp_path / 'run'} --otlp http://…@{shown}" in said
    )
    assert main(["report", str(tmp_path / "run"), "--otlp", url]) == 3
    assert "CANARY" not in said + capfd.readouterr().err
    done = [line["type"] for line in lines_of(tmp_path / "run" / "journal.jsonl")]
    assert done.count("verdict") == 3 and done[-1] == "run_finished"
