"""`report --otlp`: a run as OTLP JSON, read by OpenTelemetry's own types and by `replayer import`."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.cli import main
from replayer.traces.reader import Trace
from tests.generate import long_session
from tests.journals import lines_of

LANES = ("--engine", "a=simulated,seed=1", "--engine", "b=simulated,seed=2,fault=unknown_tool@0.5")


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


def test_opentelemetrys_own_types_read_every_line(run: Path, tmp_path: Path) -> None:
    otel = pytest.importorskip("opentelemetry.proto_json.collector.trace.v1.trace_service")
    spans = exported(run, tmp_path / "o.jsonl", "--content")
    read = []
    for line in (tmp_path / "o.jsonl").read_text().splitlines():
        request = otel.ExportTraceServiceRequest.from_json(line)
        read += [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
    assert [span.name for span in read] == [span["name"] for span in spans]
    assert read[0].span_id.hex() == spans[0]["spanId"] and len(read[0].trace_id) == 16


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[bytes], list[bytes]]]:
    """Address, bodies received, and the answers it gives first."""
    taken: list[bytes] = []
    answers: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.path.encode() + b" " + self.rfile.read(int(self.headers["Content-Length"])))
            body = answers.pop(0) if answers else b"{}"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", taken, answers
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_receiver_takes_the_export(run: Path, receiver: tuple[str, list[bytes], list[bytes]]) -> None:
    url, taken, answers = receiver
    assert main(["report", str(run), "--otlp", url]) == 0
    path, _, body = taken[0].partition(b" ")
    assert path == b"/v1/traces" and len(json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 19
    answers.append(b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"full"}}')
    assert main(["report", str(run), "--otlp", url]) == 3
