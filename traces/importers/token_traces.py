"""Traces of lengths and block hashes without text: Mooncake, Bailian, and kv-cache-tester (Weka).

A turn has a TokenShape and no items; replayed, its prompt is filler text with the same sharing of blocks. Mooncake
has no sessions: a request goes on with the thread whose full blocks it begins with. Bailian names the request before
each; its blocks have 16 tokens, its times are seconds, and its hashes are of each block's content alone. Projection P:
lengths, hashes, times, stop reasons; kinds of inputs and outputs are kept as parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_str, dicts, opt_str
from replayer.traces.records import TokenTurns
from replayer.traces.schema import Fidelity, Thread, Times, TokenShape, Usage
from replayer.wire.types import JsonObject

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
_AT_ONCE = 64
"""Requests read before they are written: few enough for the processor's cache."""
_TIMES = frozenset({int, float, type(None)})
_FIDELITY = Fidelity(timing="recorded", usage="recorded", boundaries="recorded")
FILLER = "the source holds lengths only: replayed, prompts are filler text with the same sharing of blocks"


class Mooncake(Importer):
    format = "mooncake"
    fidelity = _FIDELITY

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in probe.head[:8]]
        return any("input_length" in r and "output_length" in r and "messages" not in r for r in head)

    def write(self, builder: Builder, probe: Probe) -> None:
        builder.warn(FILLER)
        chains = _Chains()
        bad = 0
        records = map(itemgetter(1), probe.records())
        while some := list(islice(records, _AT_ONCE)):
            requests = _columns(some)
            if requests is None:
                known = [*filter(None, map(_mended, some))]
                bad += len(some) - len(known)
                requests = _columns(known)
            if requests is not None:
                builder.token_turns(chains.turns(requests))
        if bad:
            builder.warn(f"{bad} lines lack a length and are left out")


class Bailian(Importer):
    format = "bailian"
    fidelity = _FIDELITY
    experimental = True

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in probe.head[:8]]
        return any({"chat_id", "parent_chat_id", "input_length", "output_length"} <= r.keys() for r in head)

    def write(self, builder: Builder, probe: Probe) -> None:
        """A conversation is a thread, named after the request that began it; times count from the trace's begin."""
        builder.warn(FILLER)
        builder.remember(block_hashes="content of the block alone")
        roots: dict[Any, str] = {}
        bad = 0
        for _, record in probe.records():
            fields = as_dict(record)
            length, answer = as_int(fields.get("input_length")), as_int(fields.get("output_length"))
            if length is None or answer is None:
                bad += 1
                continue
            chat, parent, at = fields.get("chat_id"), fields.get("parent_chat_id"), fields.get("timestamp")
            thread = roots.setdefault(chat, roots.get(parent) or f"chat-{chat}")
            kinds = {key: fields[key] for key in ("type", "turn") if fields.get(key) is not None}
            builder.turn(
                (),
                (),
                thread=thread,
                params=kinds,
                usage=Usage(prompt_tokens=length, completion_tokens=answer),
                times=Times(started=float(at)) if isinstance(at, int | float) else None,
                tokens=TokenShape(
                    input_tokens=length,
                    output_tokens=answer,
                    block_size=BAILIAN_BLOCK,
                    block_hashes=tuple(_hashes(fields.get("hash_ids"))),
                ),
            )
        if bad:
            builder.warn(f"{bad} lines lack a length and are left out")


class KvCacheTester(Importer):
    format = "kv-cache-tester"
    fidelity = _FIDELITY

    def matches(self, probe: Probe) -> bool:
        return any(_is_kv(record) for record in [probe.document, *probe.head[:2]])

    def sessions(self, probe: Probe) -> Iterator[Session]:
        for offset, record in probe.located():
            if _is_kv(record):
                name = as_str(as_dict(record).get("id"))
                write = partial(_Kv().write, probe, offset)
                yield Session(write, name=name, title=name or None)


def _is_kv(record: object) -> bool:
    fields = as_dict(record)
    return isinstance(fields.get("requests"), list) and "block_size" in fields


def _hashes(value: object) -> list[int]:
    """The whole numbers of a list."""
    if not isinstance(value, list):
        return []
    return value if {*map(type, value)} == {int} else [n for n in value if type(n) is int]


class _Requests(NamedTuple):
    """Some requests as columns, which costs less than going through each of them."""

    lengths: Sequence[int]
    answers: Sequence[int]
    times: Sequence[float | None]
    hashes: Sequence[list[int]]
    texts: Sequence[bytes]
    """The JSON of `hashes`."""
    sessions: Sequence[Any]


_FIELDS = itemgetter("input_length", "output_length", "timestamp", "hash_ids")


def _columns(records: list[Any]) -> _Requests | None:
    """None where there are none, or where one lacks a field or has one of an unusual type (see `_mended`)."""
    try:
        lengths, answers, times, hashes = zip(*map(_FIELDS, records), strict=True)
        texts = [*map(orjson.dumps, hashes)]
    except (KeyError, TypeError, ValueError):
        return None
    whole = b"".join(texts).translate(None, b"0123456789,-") == b"[]" * len(texts)
    if (
        not whole
        or {*map(type, lengths), *map(type, answers)} != {int}
        or not _TIMES.issuperset(map(type, times))
    ):
        return None
    return _Requests(lengths, answers, times, hashes, texts, [record.get("session_id") for record in records])


def _mended(record: object) -> JsonObject | None:
    """A request with all fields in their usual types; None without lengths."""
    fields = as_dict(record)
    length, answer = as_int(fields.get("input_length")), as_int(fields.get("output_length"))
    at = fields.get("timestamp")
    if length is None or answer is None:
        return None
    return {
        "input_length": length,
        "output_length": answer,
        "timestamp": at if type(at) in _TIMES else None,
        "hash_ids": _hashes(fields.get("hash_ids")),
        "session_id": fields.get("session_id"),
    }


class _Chains:
    """Finds the thread whose last prompt's full blocks begin a prompt, the longest first; one shared block does not make a chain.

    Prompts are compared by the JSON of their ids: hashing and cutting that costs a third of what a tuple costs.
    """

    def __init__(self) -> None:
        self._ends: dict[int, tuple[int, int, str]] = {}
        """By the id of a prompt's last full block: how much of its JSON ends there, the hash of that, the thread."""
        self._greatest = -(1 << 63)
        """Of these ids; blocks that are new mostly have greater ones, which need no look-up."""
        self._count = 0

    def turns(self, requests: _Requests) -> TokenTurns:
        return TokenTurns(
            block_size=MOONCAKE_BLOCK,
            threads=[
                *map(self._thread, requests.lengths, requests.hashes, requests.texts, requests.sessions)
            ],
            started=[at / 1000 if at is not None else None for at in requests.times],
            sent=requests.lengths,
            answered=requests.answers,
            hashes=requests.texts,
        )

    def _thread(self, length: int, hashes: list[int], text: bytes, session: Any) -> str:
        thread = (session and opt_str(session)) or self._going_on(hashes, text) or self._new()
        full = length // MOONCAKE_BLOCK
        if full < len(hashes):
            whole = text.rsplit(b",", len(hashes) - full)[0]
        else:
            full, whole = len(hashes), text[:-1]
        if full > 1:
            last = hashes[full - 1]
            self._ends[last] = len(whole), hash(whole), thread
            if last > self._greatest:
                self._greatest = last
        return thread

    def _going_on(self, hashes: list[int], text: bytes) -> str | None:
        ends, greatest = self._ends, self._greatest
        for number in reversed(hashes):
            if number <= greatest and number in ends:
                length, begun, thread = ends[number]
                if hash(text[:length]) == begun and text[length] in b",]":
                    return thread
        return None

    def _new(self) -> str:
        self._count += 1
        return f"chain-{self._count}"


class _Kv:
    def write(self, probe: Probe, offset: int, builder: Builder) -> None:
        document = as_dict(probe.record_at(offset))
        self.builder, self.block = builder, as_int(document.get("block_size")) or 64
        builder.warn(FILLER)
        builder.remember(
            system_tokens=as_int(document.get("system_tokens")),
            tool_tokens=as_int(document.get("tool_tokens")),
            hash_id_scope=opt_str(document.get("hash_id_scope")),
        )
        self._requests(dicts(document.get("requests")), "main", 0.0)

    def _requests(self, requests: list[JsonObject], thread: str, offset: float) -> None:
        for request in requests:
            begun = request.get("t")
            at = offset + (begun if isinstance(begun, int | float) else 0.0)
            if request.get("type") == "subagent":
                name = as_str(request.get("agent_id")) or f"subagent-{at:.3f}"
                title = opt_str(request.get("subagent_type"))
                self.builder.thread(Thread(id=name, parent=thread, title=title))
                self._requests(dicts(request.get("requests")), name, at)
            else:
                self._request(request, thread, at)

    def _request(self, request: JsonObject, thread: str, at: float) -> None:
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
                input_tokens=length, output_tokens=answer, block_size=self.block, block_hashes=tuple(hashes)
            ),
        )
