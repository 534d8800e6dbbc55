"""Small recordings of every format, written for this project: name -> bytes, and what an import must find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import zstandard

from tests.traces.samples.agents import SWE_QUERY, atif, mini_swe_agent, openhands_v0, openhands_v1, swe_agent
from tests.traces.samples.claude import (
    claude_block,
    claude_call,
    claude_result,
    claude_session,
    claude_stream,
    claude_user,
)
from tests.traces.samples.codex import codex_bare, codex_call, codex_session
from tests.traces.samples.hub import (
    BAILIAN,
    opencode_database,
    opencode_export,
    pi,
    sts,
    table,
    tracelab,
)
from tests.traces.samples.lengths import MOONCAKE, kv_cache
from tests.traces.samples.logs import (
    ANSWER,
    ASK,
    CALLING,
    DONE,
    TOOLS,
    chat_log,
    completion,
    har,
    litellm,
    request,
    sse,
)
from tests.traces.samples.spans import otel_flat, otlp, share_gpt
from tests.traces.samples.terminals import copilot, gemini, gemini_lines, qwen
from tests.traces.samples.zed import (
    ZED_MARKDOWN,
    zed_compacted,
    zed_database,
    zed_legacy,
    zed_result,
    zed_thread,
    zed_use,
)

__all__ = [
    "ANSWER",
    "ASK",
    "BAILIAN",
    "CALLING",
    "DONE",
    "MOONCAKE",
    "SWE_QUERY",
    "TOOLS",
    "ZED_MARKDOWN",
    "Sample",
    "atif",
    "chat_log",
    "claude_block",
    "claude_call",
    "claude_result",
    "claude_session",
    "claude_stream",
    "claude_user",
    "codex_bare",
    "codex_call",
    "codex_session",
    "completion",
    "copilot",
    "gemini",
    "gemini_lines",
    "har",
    "jsonl",
    "kv_cache",
    "litellm",
    "mini_swe_agent",
    "opencode_export",
    "openhands_v0",
    "openhands_v1",
    "otel_flat",
    "otlp",
    "pi",
    "qwen",
    "request",
    "samples",
    "share_gpt",
    "sse",
    "sts",
    "swe_agent",
    "table",
    "tracelab",
    "zed_compacted",
    "zed_database",
    "zed_legacy",
    "zed_result",
    "zed_thread",
    "zed_use",
]


@dataclass(frozen=True)
class Sample:
    """`largest` is the largest prompt in tokens where the source counts them."""

    file: str
    format: str
    data: bytes
    turns: int
    calls: int
    failed: int
    threads: int = 1
    traces: int = 1
    largest: int | None = None


def jsonl(records: Iterable[Any]) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def samples(folder: Path) -> list[Sample]:
    """Every sample; `folder` is scratch space for the database."""
    one = orjson.dumps
    return [
        Sample("thread.json", "zed-thread", one(zed_thread()), 3, 4, 1, largest=1000),
        Sample("old-shape.json", "zed-thread", one(zed_thread(tagged=False)), 3, 4, 1, largest=1000),
        Sample(
            "shared.zst", "zed-thread", zstandard.compress(one({**zed_thread(), "version": "1.0.0"})), 3, 4, 1
        ),
        Sample("compacted.json", "zed-thread", one(zed_compacted()), 3, 4, 1, largest=1000),
        Sample("v020.json", "zed-thread", one(zed_legacy("0.2.0")), 2, 1, 1, largest=100),
        Sample("v010.json", "zed-thread", one(zed_legacy("0.1.0")), 2, 1, 1, largest=100),
        Sample("v000.json", "zed-thread", one(zed_legacy(None)), 2, 1, 1),
        Sample("thread.md", "zed-markdown", ZED_MARKDOWN, 2, 1, 1),
        Sample("threads.db", "zed-threads-db", zed_database(folder), 11, 11, 4, 4, 3, largest=1000),
        Sample("claude.txt", "claude-code", jsonl(claude_session()), 5, 3, 1, 2, largest=300),
        Sample("stream.jsonl", "claude-code-stream", jsonl(claude_stream()), 3, 1, 1, 2, largest=40),
        Sample("rollout.log", "codex", jsonl(codex_session()), 3, 3, 1, largest=190),
        Sample(
            "rollout.jsonl.zst", "codex", zstandard.compress(jsonl(codex_session())), 3, 3, 1, largest=190
        ),
        Sample("bare.jsonl", "codex", jsonl(codex_bare()), 2, 1, 0),
        Sample("query.traj", "swe-agent", one(swe_agent(query=True)), 2, 1, 0),
        Sample("history.traj", "swe-agent", one(swe_agent(query=False)), 2, 1, 0),
        Sample("mini.traj.json", "mini-swe-agent", one(mini_swe_agent()), 1, 0, 0, largest=70),
        Sample("events.json", "openhands-v0", one(openhands_v0()), 2, 2, 1, largest=50),
        Sample(
            "output.jsonl",
            "openhands-v0",
            jsonl([{"instance_id": i, "instruction": "Tidy", "history": openhands_v0()} for i in ("a", "b")]),
            4,
            4,
            2,
            2,
            2,
            largest=50,
        ),
        Sample("v1.json", "openhands-v1", one(openhands_v1()), 2, 2, 1),
        Sample("trajectory.json", "atif", one(atif()), 3, 1, 1, 2, largest=30),
        Sample("events.jsonl", "copilot-cli", jsonl(copilot()), 2, 2, 1),
        Sample(
            "session.json",
            "gemini-cli",
            orjson.dumps(gemini(), option=orjson.OPT_INDENT_2),
            2,
            1,
            1,
            largest=90,
        ),
        Sample("session.jsonl", "gemini-cli", jsonl(gemini_lines()), 2, 1, 1, largest=90),
        Sample("qwen.jsonl", "qwen-code", jsonl(qwen()), 2, 2, 1, largest=80),
        Sample("chat.jsonl", "openai-log", jsonl(chat_log()), 3, 1, 0, 2, 2, largest=40),
        Sample(
            "requests.jsonl", "openai-log", jsonl([request(ASK), request([*ASK, CALLING, ANSWER])]), 2, 0, 0
        ),
        Sample("litellm.jsonl", "openai-log", jsonl(litellm()), 3, 1, 0, largest=20),
        Sample("page.har", "har", one(har()), 2, 1, 0, largest=40),
        Sample("spans.json", "otel", one(otel_flat()), 2, 0, 0, largest=20),
        Sample("otlp.json", "otel", one(otlp()), 2, 1, 0, largest=20),
        Sample("share.json", "sharegpt", one(share_gpt()), 3, 0, 0, 2, 2),
        Sample("tuning.jsonl", "messages", jsonl([{"messages": [*ASK, CALLING, ANSWER, DONE]}]), 2, 1, 0),
        Sample("bare-list.json", "messages", one([*ASK, CALLING, ANSWER, DONE]), 2, 1, 0),
        Sample("trace_1.json", "kv-cache-tester", one(kv_cache()), 4, 0, 0, 2, largest=200),
        Sample("mooncake.jsonl", "mooncake", jsonl(MOONCAKE), 3, 0, 0, 2, largest=1700),
        *_of_the_hub(folder),
    ]


def _of_the_hub(folder: Path) -> list[Sample]:
    one = orjson.dumps
    tuning = [{"messages": [*ASK, CALLING, ANSWER, DONE]}, {"messages": one([*ASK, DONE]).decode()}]
    donated = [
        {"session_id": "p", "harness": "pi", "trace": jsonl(pi()).decode()},
        {"session_id": "c", "harness": "codex", "trace": jsonl(codex_session()).decode()},
    ]
    return [
        Sample("pi.jsonl", "pi", jsonl(pi()), 4, 2, 1, largest=330),
        Sample("sts.jsonl", "sts", jsonl(sts()), 2, 1, 0),
        Sample("export.json", "opencode", one(opencode_export()), 4, 2, 1, largest=200),
        Sample("opencode.db", "opencode-db", opencode_database(folder), 5, 2, 1, 2, largest=200),
        Sample("bailian.jsonl", "bailian", jsonl(BAILIAN), 3, 0, 0, 2, largest=70),
        Sample("tracelab.jsonl", "tracelab", jsonl(tracelab()), 4, 3, 1, 2, largest=1000),
        Sample(
            "tuning.parquet", "messages", table([{"messages": r["messages"]} for r in tuning[:1]]), 2, 1, 0
        ),
        Sample(
            "as-text.parquet",
            "messages",
            table([{"messages": one(r["messages"]).decode()} for r in tuning[:1]]),
            2,
            1,
            0,
        ),
        Sample("donated.parquet", "pi", table(donated[:1]), 4, 2, 1, largest=330),
    ]
