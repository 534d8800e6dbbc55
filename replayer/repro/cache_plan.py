"""The cache planner: what a measured run would have reused with another pool, block size or number of replicas.

A simulation (`cache_simulation`) of the run's requests, built anew. Tokens are ours; the pool is scaled by how many of ours the
engine counts as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import orjson

from replayer.errors import RunFolderError
from replayer.journal.events import Primed, SessionEvent, TurnFinished, TurnStarted
from replayer.journal.log import read
from replayer.journal.progress import plan_of
from replayer.journal.turns import Attempt
from replayer.journal.view import LaneView, load
from replayer.metrics.capacity.stamp import MOST_IDLE, idle
from replayer.prefix.chatml import PromptTokens
from replayer.prefix.growing import GrowingRequests
from replayer.prefix.server_watch import assistant_message, backs_off
from replayer.prefix.tokenizers import Estimate, model_tokenizer
from replayer.repro.cache_simulation import WITHIN, Planned, Request, Simulation, Variant
from replayer.repro.rebuild import Rebuilder, Rebuilt, SentRequests
from replayer.repro.rejudge_reuse import facts_of


@dataclass(frozen=True, slots=True)
class CachePlan:
    """The document of `replayer cache --json`. `simulated` is the run's own cache by the same simulation as `plans`: how far
    it is from `measured` is the simulation's error."""

    run: str
    lane: str
    requests: int
    pool_tokens: int | None
    block_size: int
    measured: float | None
    simulated: Planned | None
    plans: list[Planned] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Where there are some, only a plan on which times have no influence is known."""
    note: str = (
        "a simulation of the run's own sessions, each waiting for its replies; from-to: what it gives when the times vary as"
        " they did in the run. Where that is wide, sessions push each other out, and a real run may lie anywhere in it"
    )


_BY_SLOT = ("llamacpp", "ik_llama")


def cache_plan(
    folder: Path, lane_name: str | None, pools: Sequence[str], blocks: Sequence[int], replicas: Sequence[int]
) -> CachePlan:
    """`pools`: tokens, shares of the run's pool (`50%`), or `unlimited`. Raises RunFolderError, PlanError."""
    view = load(folder)
    lane = _lane(view.lanes, lane_name)
    known = facts_of(lane)
    if known.kind in _BY_SLOT and lane.kind != "simulated":
        raise RunFolderError(
            f"{folder}: {known.kind} keeps one prompt a slot and no pool of blocks: what another size would do is not simulated"
        )
    requests = _requests(folder, lane)
    if not requests:
        raise RunFolderError(f"{folder}: no request of lane {lane.name!r} can be built anew")
    scale = _scale(requests)
    block = known.block_size or 1
    pool = known.kv_pool_tokens
    ends = lane.load is not None and plan_of(folder).load.duration is not None
    simulate = Simulation(requests, scale, backs_off(known), ends=ends)
    own = Variant(pool, block, len(lane.plan.get("urls") or ()) or 1)
    if pool:
        simulate.calibrate(own)
    chosen = product([_pool(text, pool) for text in pools], blocks or [block], replicas or [1])
    variants = [
        Variant(size, width, number, affinity)
        for size, width, number in chosen
        for affinity in ((True, False) if number > 1 else (True,))
    ]
    measured, simulated = _measured(requests), simulate(own) if pool else None
    doubts = list(_doubts(idle(replace(view, lanes=(lane,))), measured, simulated))
    return CachePlan(
        run=view.run,
        lane=lane.name,
        requests=sum(one.counted for one in requests),
        pool_tokens=pool,
        block_size=block,
        measured=measured,
        simulated=simulated,
        plans=[simulate(variant).after(bool(doubts)) for variant in variants],
        doubts=doubts,
    )


def _doubts(away: float, measured: float | None, simulated: Planned | None) -> Iterator[str]:
    """Why the run's times do not say when the requests of another run come."""
    if away > MOST_IDLE:
        yield (
            f"this machine took {away:.0%} of the sessions' time between a reply and the next request: it set the pace, and will "
            "not set the same again"
        )
    if measured is not None and simulated is not None and abs(simulated.reuse - measured) > WITHIN:
        off = abs(simulated.reuse - measured) * 100
        yield f"the run's own cache is simulated {off:.1f} points off what was measured"


def _lane(lanes: Sequence[LaneView], name: str | None) -> LaneView:
    found = [lane for lane in lanes if name in (None, lane.name)]
    if len(found) != 1:
        raise RunFolderError(f"name one lane with --lane: {', '.join(lane.name for lane in lanes)}")
    return found[0]


def _pool(text: str, own: int | None) -> int | None:
    if text == "unlimited":
        return None
    try:
        if text.endswith("%"):
            if own is None:
                raise RunFolderError("the run's pool is not known: give --pool in tokens")
            return max(1, round(own * float(text[:-1]) / 100))
        return int(text)
    except ValueError:
        raise RunFolderError(
            f"--pool {text!r} is not a number of tokens, a share such as 50%, or unlimited"
        ) from None


def _requests(folder: Path, lane: LaneView) -> list[Request]:
    """In the order of sending."""
    reading = _Reading(Rebuilder(folder, plan_of(folder), lane), lane)
    for event in read(folder):
        if isinstance(event, SessionEvent):
            reading.take(event)
    return sorted((one for one in reading.requests if one.ended), key=lambda one: one.sent)


class _Reading:
    """Follows a journal and collects the requests of one lane."""

    def __init__(self, rebuilder: Rebuilder, lane: LaneView) -> None:
        weights = facts_of(lane).effective.get("weights")
        self._tokens = PromptTokens(model_tokenizer(weights) or Estimate())
        self._sent = SentRequests({lane.name: rebuilder})
        self.requests: list[Request] = []
        self._open: dict[tuple[str, int, int], Request] = {}

    def take(self, event: SessionEvent) -> None:
        attempt = self._sent.attempt(event)
        if attempt is None:
            return
        match event:
            case TurnStarted():
                if (sent := self._sent.built(attempt, event)) is not None:
                    key = event.session, event.attempt, event.turn
                    self._open[key] = self._asked(attempt, sent, event.at, counted=True)
            case Primed():
                if (sent := self._sent.built(attempt, event)) is not None:
                    at = event.at - event.ago_ns - event.total_ns
                    _answered(self._asked(attempt, sent, at, counted=False), event, event.total_ns)
            case TurnFinished():
                one = self._open.pop((event.session, event.attempt, event.turn), None)
                message = assistant_message(event.content, event.reasoning, event.tool_calls)
                reply = self._tokens.reply(orjson.dumps(message))
                if one is not None:
                    _answered(one, event, event.total_ns if event.prefill_ns is None else event.prefill_ns)
                    one.reply = reply

    def _asked(self, attempt: Attempt, sent: Rebuilt, at: int, *, counted: bool) -> Request:
        asked = GrowingRequests().read("", sent.body, None)
        prompt = self._tokens.prompt(asked.messages, asked.tools)
        salt = str(asked.fields.get("cache_salt") or "")
        self.requests.append(Request(attempt.session, salt, prompt, at, counted))
        return self.requests[-1]


def _answered(one: Request, event: TurnFinished | Primed, first: int) -> None:
    usage = event.usage or {}
    one.first, one.ended = one.sent + first, one.sent + event.total_ns
    one.prompt_tokens, one.cached_tokens = usage.get("prompt_tokens"), usage.get("cached_tokens")


def _scale(requests: Iterable[Request]) -> float:
    """Tokens of ours for one of the engine's."""
    known = [(one.tokens, one.prompt_tokens) for one in requests if one.prompt_tokens]
    theirs = sum(count or 0 for _, count in known)
    return sum(count for count, _ in known) / theirs if theirs else 1.0


def _measured(requests: Iterable[Request]) -> float | None:
    known = [one for one in requests if one.counted and one.cached_tokens is not None and one.prompt_tokens]
    prompt = sum(one.prompt_tokens or 0 for one in known)
    return sum(one.cached_tokens or 0 for one in known) / prompt if prompt else None
