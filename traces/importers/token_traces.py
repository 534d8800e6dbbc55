"""Traces of lengths and block hashes without text: Mooncake, and kv-cache-tester (Weka).

A turn has a TokenShape and no items; replayed, its prompt is filler text with the same sharing of blocks. Mooncake
has no sessions: a request goes on with the thread whose full blocks it begins with. Projection P: lengths, hashes,
times, stop reasons; kinds of inputs and outputs are kept as parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, ClassVar

from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_list, as_str, dicts, opt_str
from replayer.traces.schema import Fidelity, Thread, Times, TokenShape, Usage

MOONCAKE_BLOCK = 512
_FIDELITY = Fidelity(timing="recorded", usage="recorded", boundaries="recorded")
_FILLER = "the source holds lengths only: replayed, prompts are filler text with the same sharing of blocks"


class Mooncake:
    format: ClassVar[str] = "mooncake"
    fidelity: ClassVar[Fidelity] = _FIDELITY
    experimental: ClassVar[bool] = False

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in probe.head[:8]]
        return any("input_length" in r and "output_length" in r and "messages" not in r for r in head)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        yield Session(lambda builder: _write_mooncake(builder, probe))


class KvCacheTester:
    format: ClassVar[str] = "kv-cache-tester"
    fidelity: ClassVar[Fidelity] = _FIDELITY
    experimental: ClassVar[bool] = False

    def matches(self, probe: Probe) -> bool:
        return any(_is_kv(record) for record in [probe.document, *probe.head[:2]])

    def sessions(self, probe: Probe) -> Iterator[Session]:
        for offset, record in probe.located():
            if _is_kv(record):
                name = as_str(as_dict(record).get("id"))
                yield Session(_kv_writer(probe, offset), name=name, title=name or None)


def _is_kv(record: Any) -> bool:
    fields = as_dict(record)
    return isinstance(fields.get("requests"), list) and "block_size" in fields


def _hashes(value: Any) -> tuple[int, ...]:
    return tuple(number for number in as_list(value) if isinstance(number, int))


def _write_mooncake(builder: Builder, probe: Probe) -> None:
    builder.warn(_FILLER)
    ends: dict[int, str] = {}
    count = bad = 0
    for _, record in probe.records():
        fields = as_dict(record)
        length, answer = as_int(fields.get("input_length")), as_int(fields.get("output_length"))
        if length is None or answer is None:
            bad += 1
            continue
        hashes = _hashes(fields.get("hash_ids"))
        full = max(1, length // MOONCAKE_BLOCK)
        beginnings = _beginnings(hashes)
        thread = opt_str(fields.get("session_id")) or _chain(ends, beginnings)
        if thread is None:
            count += 1
            thread = f"chain-{count}"
        if beginnings:
            ends[beginnings[min(full, len(beginnings)) - 1]] = thread
        at = fields.get("timestamp")
        builder.turn(
            (),
            (),
            thread=thread,
            usage=Usage(prompt_tokens=length, completion_tokens=answer),
            times=Times(started=at / 1000) if isinstance(at, int | float) else None,
            tokens=TokenShape(
                input_tokens=length, output_tokens=answer, block_size=MOONCAKE_BLOCK, block_hashes=hashes
            ),
        )
    if bad:
        builder.warn(f"{bad} lines lack a length and are left out")


def _beginnings(hashes: tuple[int, ...]) -> list[int]:
    """For every length from 1 on, one number that stands for the ids up to there."""
    return list(accumulate(hashes, lambda before, block: hash((before, block)), initial=0))[1:]


def _chain(ends: dict[int, str], beginnings: list[int]) -> str | None:
    """The thread whose last prompt is the longest full-block beginning of this one; one shared block is no chain."""
    for beginning in reversed(beginnings[1:]):
        if thread := ends.get(beginning):
            return thread
    return None


def _kv_writer(probe: Probe, offset: int) -> Any:
    def write(builder: Builder) -> None:
        _Kv(builder, as_dict(probe.record_at(offset))).write()

    return write


class _Kv:
    def __init__(self, builder: Builder, document: dict[str, Any]) -> None:
        self.builder, self.document = builder, document
        self.block = as_int(document.get("block_size")) or 64

    def write(self) -> None:
        self.builder.warn(_FILLER)
        self.builder.remember(
            system_tokens=as_int(self.document.get("system_tokens")),
            tool_tokens=as_int(self.document.get("tool_tokens")),
            hash_id_scope=opt_str(self.document.get("hash_id_scope")),
        )
        self._requests(dicts(self.document.get("requests")), "main", 0.0)

    def _requests(self, requests: list[dict[str, Any]], thread: str, offset: float) -> None:
        for request in requests:
            at = offset + _seconds(request.get("t"))
            if request.get("type") == "subagent":
                name = as_str(request.get("agent_id")) or f"subagent-{at:.3f}"
                self.builder.thread(
                    Thread(id=name, parent=thread, title=opt_str(request.get("subagent_type")))
                )
                self._requests(dicts(request.get("requests")), name, at)
            else:
                self._request(request, thread, at)

    def _request(self, request: dict[str, Any], thread: str, at: float) -> None:
        length, answer = as_int(request.get("in")) or 0, as_int(request.get("out")) or 0
        hashes = _hashes(request.get("hash_ids"))
        ttft, spent = request.get("ttft"), request.get("api_time")
        kinds = {key: request.get(key) for key in ("input_types", "output_types", "think_time")}
        self.builder.turn(
            (),
            (),
            thread=thread,
            model=opt_str(request.get("model")),
            params={
                **{k: v for k, v in kinds.items() if v is not None},
                "stream": request.get("type") == "s",
            },
            usage=Usage(prompt_tokens=length, completion_tokens=answer),
            times=Times(
                started=at,
                first_token=at + ttft if isinstance(ttft, int | float) else None,
                ended=at + spent if isinstance(spent, int | float) else None,
            ),
            finish_reason=opt_str(request.get("stop")),
            tokens=TokenShape(
                input_tokens=length, output_tokens=answer, block_size=self.block, block_hashes=hashes
            ),
        )


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
