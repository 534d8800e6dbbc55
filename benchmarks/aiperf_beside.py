"""The same sessions against one simulated server by replayer and by AIPerf, in turns: TTFT and output tokens/s side by side.

    python -m venv /tmp/aiperf && /tmp/aiperf/bin/pip install aiperf
    python -m benchmarks.aiperf_beside /tmp/aiperf/bin/aiperf [--sessions 8] [--rounds 2]

AIPerf replays the very payloads (its raw_payload input: a folder of sessions, a line for each turn), as many sessions at a
time, each with a mark of its own as replayer gives them. Tokens are the server's count on both sides. AIPerf's per-request
records are summed here once more, so that a difference of definition shows beside one of measurement.

AIPerf's TTFT holds what passes between its start stamp and the moment at which the server has read the request. Against
stamped_server.c (120 ms, 8 sessions, 2 x 150 requests, a machine at load 17), medians: AIPerf's start to the server's read 1.1 and
10.6 ms, the server's own time 121 and 125, sent to stamped 0.2 and 0.8; replayer's TTFT less the server's own time 1.0 and 3.8 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson

from benchmarks.run_peers import tokenizer
from replayer.metrics.stats import quantile
from replayer.plan.load_shape import LoadShape, coming
from replayer.requests.history import RecordedHistory
from replayer.simulated import SimulatedSpec, launch
from replayer.traces.library import find
from replayer.traces.reader import Trace

NAMES = ("fix-failing-test", "tools-stress", "front-end-change", "first-look")
ENGINE: dict[str, Any] = {"tok_s": 60.0, "ttft_ms": 300.0, "prefill_tok_s": 40_000.0}


def write_payloads(folder: Path, repeat: int) -> None:
    """A file for each session, in the order in which replayer starts them."""
    histories = {name: RecordedHistory.trees(Trace.open(find(name)))[0] for name in NAMES}
    fields = {"model": "simulated", "stream_options": {"include_usage": True}}
    order = coming(LoadShape(sessions=1), list(NAMES), seed=0, repeat=repeat)
    folder.mkdir()
    for number, session in enumerate(order):
        history, mark = histories[session.label], f"\n\n[session {session.label}/{session.repeat}]"
        requests = (history.request(turn, fields, marker=mark) for turn in history.turns)
        lines = [b"".join(bytes(piece) for piece in request.body) for request in requests]
        (folder / f"{number:04d}.jsonl").write_bytes(
            b"\n".join(orjson.dumps(orjson.loads(line)) for line in lines)
        )


def by_replayer(url: str, folder: Path, sessions: int, repeat: int) -> dict[str, float]:
    traces = [word for name in NAMES for word in ("--trace", name)]
    words = ["run", *traces, "--engine", f"a={url}", "--sessions", str(sessions), "--repeat", str(repeat)]
    words.append("--shared-prompt")  # the payloads' marks stand behind the first user message too
    done = subprocess.run(
        [sys.executable, "-m", "replayer", *words, "--out", str(folder), "--json", "--plain"],
        capture_output=True,
        text=True,
    )
    load = json.loads(done.stdout)["lanes"][0]["load"]
    ttft, own = load["ttft_ms"], sorted(map(own_ms, usages(folder)))
    return {
        "requests": load["requests"],
        "ttft p50": ttft["p50"],
        "ttft p95": ttft["p95"],
        "output tok/s": load["output_tok_s"],
        "server's own ttft p50": quantile(own, 0.5) or 0.0,
        "server's own ttft p95": quantile(own, 0.95) or 0.0,
    }


def usages(folder: Path) -> Iterator[dict[str, int]]:
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        event = orjson.loads(line)
        if event["type"] == "turn_finished":
            yield event["usage"]


def own_ms(usage: dict[str, int]) -> float:
    """When the simulated server sends a first token: its settings, and what it had to compute."""
    computed = usage["prompt_tokens"] - usage["cached_tokens"]
    return float(ENGINE["ttft_ms"] + computed / ENGINE["prefill_tok_s"] * 1000)


def by_aiperf(aiperf: str, url: str, payloads: Path, folder: Path, sessions: int) -> dict[str, float]:
    turns = sum(len(path.read_bytes().splitlines()) for path in payloads.glob("*.jsonl"))
    words = [
        "profile", "--model", "simulated", "--url", url.removesuffix("/v1"), "--endpoint-type", "chat", "--streaming",
        "--custom-dataset-type", "raw_payload", "--input-file", str(payloads), "--dataset-sampling-strategy",
        "sequential", "--concurrency", str(sessions), "--conversation-num", str(len(list(payloads.glob("*.jsonl")))),
        "--tokenizer", str(payloads.parent / "tokenizer"), "--use-server-token-count", "--ui", "none", "--workers-max", "1", "--artifact-dir", str(folder),
        "--no-gpu-telemetry", "--no-server-metrics", "--export-level", "records",
    ]  # fmt: skip
    done = subprocess.run([aiperf, *words], capture_output=True, text=True)
    exports = list(folder.rglob("profile_export*.json*"))
    summary = next((p for p in exports if p.name.endswith("aiperf.json")), None)
    if summary is None:
        raise SystemExit(
            f"aiperf wrote no summary ({turns} turns):\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    figures = json.loads(summary.read_text())
    records = [
        json.loads(line)
        for path in exports
        if path.suffix == ".jsonl"
        for line in path.read_text().splitlines()
    ]
    return {
        "requests": figures["request_count"]["avg"],
        "ttft p50": figures["time_to_first_token"]["p50"],
        "ttft p95": figures["time_to_first_token"]["p95"],
        "output tok/s": figures["output_token_throughput"]["avg"],
    } | _again(records)


def _again(records: list[dict[str, Any]]) -> dict[str, float]:
    """From the records, by replayer's definitions: type 7 quantiles; tokens over the time with a request in flight."""
    ttft = sorted(record["metrics"]["time_to_first_token"]["value"] for record in records)
    spans = sorted((r["metadata"]["request_start_ns"], r["metadata"]["request_end_ns"]) for r in records)
    busy, reached = 0.0, 0.0
    for low, high in spans:
        busy, reached = busy + max(0.0, high - max(low, reached)), max(reached, high)
    names = ("usage_completion_tokens", "output_token_count", "output_sequence_length")
    tokens = sum(next(r["metrics"][name]["value"] for name in names if name in r["metrics"]) for r in records)
    return {
        "ttft p50 again": quantile(ttft, 0.5) or 0.0,
        "ttft p95 again": quantile(ttft, 0.95) or 0.0,
        "output tok/s again": tokens / (busy / 1e9),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("aiperf")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    server = await launch(
        SimulatedSpec.from_options({**ENGINE, "trace": tuple(str(find(name)) for name in NAMES)})
    )
    found: dict[str, list[dict[str, float]]] = {"replayer": [], "AIPerf": []}
    try:
        with tempfile.TemporaryDirectory() as place:
            top = Path(place)
            write_payloads(top / "payloads", args.repeat)
            tokenizer(top)
            for number in range(args.rounds):
                for name in ("replayer", "AIPerf"):
                    httpx.post(f"{server.base_url.removesuffix('/v1')}/reset_prefix_cache")
                    one = await asyncio.to_thread(
                        by_replayer, server.base_url, top / f"run{number}", args.sessions, args.repeat
                    ) if name == "replayer" else await asyncio.to_thread(
                        by_aiperf, args.aiperf, server.base_url, top / "payloads", top / f"aiperf{number}", args.sessions
                    )  # fmt: skip
                    found[name].append(one)
                    print(
                        f"{number} {name}: " + ", ".join(f"{key} {value:.2f}" for key, value in one.items()),
                        flush=True,
                    )
    finally:
        await server.stop()
    for key in [key for key in found["replayer"][0] if key in found["AIPerf"][0]]:
        ours, theirs = (sum(one[key] for one in found[name]) / args.rounds for name in ("replayer", "AIPerf"))
        print(f"{key}: replayer {ours:.2f}, AIPerf {theirs:.2f}, {100 * (ours / theirs - 1):+.2f} %")


if __name__ == "__main__":
    asyncio.run(main())
