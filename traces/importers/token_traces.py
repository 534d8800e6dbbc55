"""Traces of lengths and block hashes without text: Mooncake, and kv-cache-tester (Weka).

A turn has a TokenShape and no items; replayed, its prompt is filler text with the same sharing of blocks. Mooncake
has no sessions: a request goes on with the thread whose full blocks it begins with. Projection P: lengths, hashes,
times, stop reasons; kinds of inputs and outputs are kept as parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_str, dicts, opt_str
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
    if not isinstance(value, list):
        return ()
    try:
        whole = type(sum(value)) is int
    except TypeError:
        whole = False
    return tuple(value) if whole else tuple(n for n in value if isinstance(n, int))


def _write_mooncake(builder: Builder, probe: Probe) -> None:
    builder.warn(_FILLER)
    chains = _Chains()
    bad = 0
    for _, record in probe.records():
        fields = record if type(record) is dict else {}
        length, answer = as_int(fields.get("input_length")), as_int(fields.get("output_length"))
        if length is None or answer is None:
            bad += 1
            continue
        hashes = _hashes(fields.get("hash_ids"))
        thread = chains.thread(hashes, length // MOONCAKE_BLOCK, opt_str(fields.get("session_id")))
        at = fields.get("timestamp")
        started = at / 1000 if isinstance(at, int | float) else None
        builder.token_turn(thread, started, (length, answer, MOONCAKE_BLOCK), hashes)
    if bad:
        builder.warn(f"{bad} lines lack a length and are left out")


class _Chains:
    """Finds the thread whose last prompt's full blocks begin a prompt, the longest first; one shared block is no chain."""

    def __init__(self) -> None:
        self._openings: set[tuple[int, ...]] = set()
        self._ends: dict[int, tuple[int, int, str]] = {}
        """By the id of a prompt's last full block: how many blocks, the hash of their ids, the thread."""
        self._count = 0

    def thread(self, hashes: tuple[int, ...], full_blocks: int, named: str | None) -> str:
        thread = named or self._going_on(hashes) or self._new()
        whole = hashes[: max(1, full_blocks)]
        if len(whole) > 1:
            self._openings.add(whole[:2])
            self._ends[whole[-1]] = (len(whole), hash(whole), thread)
        return thread

    def _going_on(self, hashes: tuple[int, ...]) -> str | None:
        if hashes[:2] in self._openings:
            for length, begun, thread in filter(None, map(self._ends.get, reversed(hashes))):
                if hash(hashes[:length]) == begun:
                    return thread
        return None

    def _new(self) -> str:
        self._count += 1
        return f"chain-{self._count}"


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
