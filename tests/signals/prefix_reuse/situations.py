"""Planted situations with known causes of lost prefix reuse: servers, lanes, resets, pools, clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

HEALTHY: frozenset[str | None] = frozenset({None})
KINDS = ("vllm", "sglang", "trtllm", "llamacpp", "ik_llama")
BLOCKS = (1, 16, 64, 128, 528)

TRANSFORMS = '''
import itertools, json, uuid
count = itertools.count()

def clock(messages):
    first = dict(messages[0], content=f"Now: 09:{next(count):02d}. " + messages[0]["content"])
    return [first, *messages[1:]]

def nonce(messages):
    first = dict(messages[0], content=f"request id: {uuid.uuid4()}\\n" + messages[0]["content"])
    return [first, *messages[1:]]

def pruned(messages):
    tools = [n for n, m in enumerate(messages) if m["role"] == "tool"]
    old = set(tools[:-2])
    return [dict(m, content="[Old tool result content cleared]") if n in old else m for n, m in enumerate(messages)]

def rewritten(messages):
    plans = ["look around", "read it all", "find the fault", "repair it", "run the tests", "tell what was done"]
    at = next(n for n, m in enumerate(messages) if m["role"] == "user")
    return [dict(m, content=f"Plan: {plans[len(messages) % 6]}. {m['content']}") if n == at else m
            for n, m in enumerate(messages)]

def spaced(messages):
    def call(one):
        function = dict(one["function"], arguments=json.dumps(json.loads(one["function"]["arguments"]), indent=3))
        return dict(one, function=function)
    old = [n for n, m in enumerate(messages) if m.get("tool_calls")][:-1]
    return [dict(m, tool_calls=[call(c) for c in m["tool_calls"]]) if n in old else m for n, m in enumerate(messages)]

def parts(messages):
    """A string becomes a list of one part from the second request on: the same text."""
    if len(messages) < 4:
        return messages
    return [dict(m, content=[{"type": "text", "text": m["content"]}]) if isinstance(m.get("content"), str) else m
            for m in messages]

def cache_control(messages):
    """The mark moves with the newest message, as clients of another API do: the text stays."""
    mark = {"cache_control": {"type": "ephemeral"}}
    text = messages[-1].get("content")
    if not isinstance(text, str):
        return messages
    return [*messages[:-1], dict(messages[-1], content=[{"type": "text", "text": text, **mark}])]
'''
"""What clients do to each request; written beside a run as `manager.py`."""

CLIENT: dict[str, frozenset[str | None]] = {
    "clock": frozenset({"clock_or_date"}),
    "nonce": frozenset({"random_id_or_hash"}),
    "pruned": frozenset({"message_dropped"}),
    "rewritten": frozenset({"message_rewritten"}),
    "spaced": frozenset({"arguments_reserialised"}),
    "parts": HEALTHY,
    "cache_control": HEALTHY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """`lanes` are engine specs; `{S}` in one stands for a server of its own that they share, with these `server` settings.
    `right` are the causes that are true of every lane; None is that nothing was lost."""

    name: str
    lanes: tuple[str, ...]
    right: frozenset[str | None] = HEALTHY
    trace: str = "fix-failing-test"
    args: tuple[str, ...] = ()
    server: dict[str, Any] = field(default_factory=dict)
    transform: str | None = None
    warm: bool = False
    """The same sessions ran on the server before, in another run."""


def situations() -> Iterator[Situation]:
    yield from _healthy()
    yield from _off_and_silent()
    yield from _shared()
    yield from _pools()
    yield from _clients()
    yield from _repeats()


def _blocks(block: int) -> frozenset[str | None]:
    """Large blocks fill badly in short prompts, and that is what is then said."""
    return frozenset({None, "block_granularity"}) if block >= 128 else HEALTHY


def _healthy() -> Iterator[Situation]:
    for kind in ("vllm", "sglang"):
        for block in BLOCKS:
            lane = f"a=simulated,kind={kind},block_size={block}"
            yield Situation(name=f"healthy-{kind}-{block}", lanes=(lane,), right=_blocks(block))
    for kind in ("trtllm", "llamacpp", "ik_llama"):
        yield Situation(name=f"healthy-{kind}", lanes=(f"a=simulated,kind={kind}",))
    yield Situation(
        name="healthy-long", lanes=("a=simulated", "b=simulated,kind=sglang"), trace="flaky-service"
    )
    yield Situation(name="healthy-live", lanes=("a=simulated,block_size=1",), args=("--mode", "live"))
    for wire in ("messages", "responses"):
        yield Situation(
            name=f"wire-{wire}",
            lanes=("a=simulated",),
            args=("--wire", wire),
            right=frozenset({None, "not_reported"}),
        )
    yield Situation(
        name="speculation-takes-a-block",
        lanes=("a=simulated,block_size=64,spec_backoff=true",),
        right=frozenset({None, "block_granularity"}),
        trace="flaky-service",
    )


def _off_and_silent() -> Iterator[Situation]:
    off = frozenset({"cache_off"})
    for kind in KINDS:
        yield Situation(name=f"off-{kind}", lanes=(f"a=simulated,kind={kind},pool_tokens=0",), right=off)
    for block in (1, 64):
        lane = f"a=simulated,block_size={block},pool_tokens=0"
        yield Situation(name=f"off-{block}", lanes=(lane,), right=off, trace="flaky-service")
    yield Situation(
        name="off-slow", lanes=("a=simulated,pool_tokens=0,prefill_tok_s=4000",), right=off
    )  # the clock says so, too
    yield Situation(
        name="off-eight-at-once",
        lanes=("a=simulated,pool_tokens=0",),
        right=off,
        args=("--repeat", "8", "--concurrency", "8"),
    )
    silent = frozenset({"not_reported"})
    for kind in ("vllm", "sglang"):
        yield Situation(
            name=f"silent-{kind}", lanes=(f"a=simulated,kind={kind},report_cached=false",), right=silent
        )
        yield Situation(
            name=f"silent-all-{kind}",
            lanes=(f"a=simulated,kind={kind},report_cached=false,report_metrics=false",),
            right=silent,
        )
        yield Situation(
            name=f"silent-off-{kind}",
            lanes=(f"a=simulated,kind={kind},report_cached=false,pool_tokens=0",),
            right=frozenset({"cache_off", "not_reported"}),
        )
    yield Situation(
        name="null-details",
        lanes=("a=simulated,fault=null_details",),
        right=frozenset({None, "not_reported"}),
    )


def _shared() -> Iterator[Situation]:
    two = ("a={S},model=base,temperature=0", "b={S},model=base,temperature=0.7")
    base = {"model": "base"}
    for kind in ("vllm", "sglang", "llamacpp"):
        server = base | {"kind": kind}
        yield Situation(name=f"two-settings-{kind}", lanes=two, server=server, args=("--repeat", "3"))
        yield Situation(
            name=f"two-settings-{kind}-4",
            lanes=two,
            server=server,
            args=("--repeat", "4", "--concurrency", "4"),
        )
        no_reset = server | {"reset_endpoint": False}
        yield Situation(
            name=f"two-settings-{kind}-no-reset", lanes=two, server=no_reset, args=("--repeat", "2")
        )
    lora = ("a={S},model=base", "c={S},model=tuned")
    yield Situation(name="adapter", lanes=lora, server=base | {"lora": ["tuned"]}, args=("--repeat", "3"))
    yield Situation(
        name="adapter-and-settings",
        lanes=(*two, "c={S},model=tuned"),
        server=base | {"lora": ["tuned"]},
        args=("--repeat", "4", "--concurrency", "2"),
    )
    yield Situation(
        name="two-settings-off",
        lanes=two,
        server=base | {"pool_tokens": 0},
        right=frozenset({"cache_off"}),
        args=("--repeat", "2"),
    )
    yield Situation(
        name="two-settings-small-pool",
        lanes=two,
        server=base | {"pool_tokens": 12_000},
        right=frozenset({"eviction"}),
        trace="flaky-service",
        args=("--max-turns", "12", "--repeat", "4", "--concurrency", "4"),
    )
    yield Situation(
        name="two-settings-slow",
        lanes=two,
        server=base | {"ttft_ms": 20, "tok_s": 400},
        args=("--repeat", "3", "--concurrency", "3", "--max-turns", "5"),
    )


def _pools() -> Iterator[Situation]:
    evicted = frozenset({"eviction"})
    for kind in ("vllm", "sglang"):
        for sessions in (8, 16):
            yield Situation(
                name=f"small-pool-{kind}-{sessions}",
                lanes=(f"a=simulated,kind={kind},pool_tokens=12000",),
                right=evicted,
                trace="flaky-service",
                args=("--max-turns", "12", "--repeat", str(sessions), "--concurrency", str(sessions)),
            )
    for block in (64, 128):
        yield Situation(
            name=f"small-pool-blocks-{block}",
            lanes=(f"a=simulated,block_size={block},pool_tokens=12032",),
            right=frozenset({"eviction", "block_granularity"}),
            trace="flaky-service",
            args=("--max-turns", "10", "--repeat", "8", "--concurrency", "8"),
        )
    for sessions in (1, 4, 16, 32, 64):
        yield Situation(
            name=f"large-pool-{sessions}",
            lanes=("a=simulated",),
            args=("--repeat", str(sessions), "--concurrency", str(sessions), "--max-turns", "5"),
        )
    yield Situation(
        name="pool-that-just-fits",
        lanes=("a=simulated,pool_tokens=60000",),
        right=frozenset({None, "eviction"}),
        trace="flaky-service",
        args=("--max-turns", "8", "--repeat", "8", "--concurrency", "8"),
    )
    yield Situation(
        name="second-tier",
        lanes=("a=simulated,pool_tokens=12000,host_tokens=1000000",),
        right=frozenset({None, "eviction"}),
        trace="flaky-service",
        args=("--max-turns", "10", "--repeat", "6", "--concurrency", "6"),
    )
    yield Situation(
        name="slow-small-pool",
        lanes=("a=simulated,pool_tokens=12000,tok_s=600,prefill_tok_s=40000",),
        right=evicted,
        trace="flaky-service",
        args=("--max-turns", "8", "--repeat", "8", "--concurrency", "8"),
    )


def _clients() -> Iterator[Situation]:
    for name, right in CLIENT.items():
        for kind in ("vllm", "sglang"):
            yield Situation(
                name=f"{name}-{kind}",
                lanes=(f"a=simulated,kind={kind}",),
                right=right,
                transform=name,
                trace="flaky-service" if name in ("pruned", "rewritten") else "fix-failing-test",
                args=("--max-turns", "14"),
            )
    for name in ("clock", "parts"):
        yield Situation(
            name=f"{name}-eight-at-once",
            lanes=("a=simulated",),
            right=CLIENT[name],
            transform=name,
            args=("--repeat", "8", "--concurrency", "8"),
        )


def _repeats() -> Iterator[Situation]:
    for kind in KINDS:
        lane = f"a=simulated,kind={kind},reset_endpoint=false"
        yield Situation(name=f"repeat-without-reset-{kind}", lanes=(lane,), args=("--repeat", "3"))
        yield Situation(
            name=f"two-at-once-{kind}",
            lanes=(f"a=simulated,kind={kind}",),
            args=("--repeat", "4", "--concurrency", "2"),
        )
    for kind in ("vllm", "llamacpp"):
        yield Situation(
            name=f"warm-{kind}",
            lanes=("a={S}",),
            server={"kind": kind, "reset_endpoint": False},
            warm=True,
        )
    yield Situation(
        name="stopped-replies",
        lanes=("a=simulated,block_size=1,fault=collapse",),
        args=("--repeat", "2"),
        right=frozenset({None, "not_reported"}),
    )
    yield Situation(
        name="broken-streams",
        lanes=("a=simulated,fault=disconnect@0.2",),
        args=("--repeat", "3"),
    )
    yield Situation(
        name="overloaded", lanes=("a=simulated,fault=503@0.2",), args=("--repeat", "3", "--concurrency", "2")
    )
    yield Situation(
        name="generated-workload",
        lanes=("a=simulated",),
        trace="tools-stress",
        args=("--max-turns", "10"),
    )


def on_llamacpp() -> Iterator[Situation]:
    """The same on the embedded llama.cpp, really run: short sessions, for it computes 60 to 130 prompt tokens a second."""
    short = ("--max-turns", "4", "--max-tokens", "12")
    one, two = "a=embedded", "a=embedded,parallel=2"
    off = frozenset({"cache_off"})
    plain: list[tuple[str, str, frozenset[str | None], tuple[str, ...]]] = [
        ("healthy", one, HEALTHY, ("--max-turns", "5", "--max-tokens", "12")),
        ("off", f"{one},extra.cache_prompt=false", off, ("--max-turns", "5", "--max-tokens", "8")),
        ("repeat", one, HEALTHY, (*short, "--repeat", "2")),
        ("two-slots", two, HEALTHY, (*short, "--repeat", "2", "--concurrency", "2")),
        ("more-sessions-than-slots", one, frozenset({None, "eviction"}), (*short, "--repeat", "3", "--concurrency", "3")),
        ("live", one, HEALTHY, ("--mode", "live", "--max-turns", "3", "--max-tokens", "48")),
        ("sampled", f"{one},temperature=0.8", HEALTHY, short),
    ]  # fmt: skip
    for name, lane, right, args in plain:
        yield Situation(name=f"llamacpp-{name}", lanes=(lane,), trace="first-look", right=right, args=args)
    for name in ("clock", "nonce", "rewritten", "parts", "cache_control"):
        yield Situation(
            name=f"llamacpp-{name}",
            lanes=(one,),
            trace="first-look",
            right=CLIENT[name],
            transform=name,
            args=short,
        )
