"""The stamp of a level: every reason why nothing may be concluded from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.capacity.limits import Limit
from replayer.metrics.documents import LaneFigures

MOST_ERRORS = 0.05
"""Share of a level's turns that may end in an engine error."""
MOST_SHED = 0.5
"""The same of a level that fails beyond one that held: a server may refuse what is too much for it. One that refuses more is
broken."""
MOST_STALLED = 0.10
"""Share of a level's turns during which this machine may be late to read."""
MOST_IDLE = 0.20
"""Share of the sessions' time that may pass between a reply and the next request, where no pause was asked for, at the level that
is the answer: at a smaller one it does no harm, and one that fails would fail with more load too."""
MOST_UNMEASURED = 0.10
"""Share of the replies whose figure a limit is set on may be unknown."""
SHORT = 16
"""Tokens of a reply that may come in one piece; nothing is missed without its speed."""
LEAST_SECONDS, LEAST_TURNS = 1.0, 40
"""A steady window that is shorter says nothing."""
LEAST_FAILING = 20
"""Turns of one that surely fails: a server far past its capacity answers too few of them to ask for more."""


def why_not(
    view: RunView,
    figures: LaneFigures,
    turns: Sequence[TurnFacts],
    limits: Sequence[Limit],
    *,
    emptied: bool,
    fails: bool,
    shed: bool = False,
) -> list[str]:
    """`turns` are those of the steady window; `emptied`: the cache was to be empty at the begin; `fails`: surely, by its interval;
    `shed`: it fails, and a level of fewer sessions held."""
    [lane] = view.lanes
    return [
        *_of_server(view, lane, figures, emptied=emptied, most=MOST_SHED if shed else MOST_ERRORS),
        *_of_client(view, lane),
        *_of_window(figures, turns, fails),
        *_of_limits(turns, limits),
    ]


def _of_server(
    view: RunView, lane: LaneView, figures: LaneFigures, *, emptied: bool, most: float
) -> Iterator[str]:
    if any(warning.code == "server_away" for warning in view.warnings):
        yield "the server went away while the level ran"
    if view.state != "finished" or figures.steady is None:
        yield "the run was cut short"
    if figures.unreached_turns:
        yield f"the server was gone: {figures.unreached_turns} requests reached no engine"
    if (figures.server or {}).get("resets"):
        yield "the server's counters fell: it was started again while the level ran"
    if emptied and lane.load is not None and lane.load.cache_reset != "yes":
        yield "the cache could not be emptied before the level, so it may be warm (--keep-cache states that it may)"
    every = list(lane.turns)
    failed = sum(turn.error is not None for turn in every)
    if every and failed > most * len(every):
        yield f"{failed} of {len(every)} turns ended in an engine error (at most {most:.0%} may)"


def _of_client(view: RunView, lane: LaneView) -> Iterator[str]:
    every = list(lane.turns)
    stalled = sum(turn.stalled for turn in every)
    if every and stalled > MOST_STALLED * len(every):
        yield (
            f"this machine was too slow: it was late to read in {stalled} of {len(every)} turns (at most {MOST_STALLED:.0%} may)"
        )
    yield from (reason for reason in view.reasons if "receiving loop" in reason)


def _of_window(figures: LaneFigures, turns: Sequence[TurnFacts], fails: bool) -> Iterator[str]:
    steady = figures.steady
    if steady is None:
        return
    least = LEAST_FAILING if fails else max(LEAST_TURNS, steady.sessions or 0)
    if steady.window_s < LEAST_SECONDS or len(turns) < least:
        each = "" if fails else ", one for each session"
        yield (
            f"its steady window is too short: {steady.window_s:.1f} s with {len(turns)} turns "
            f"(at least {LEAST_SECONDS:g} s and {least} turns{each})"
        )


def _of_limits(turns: Sequence[TurnFacts], limits: Sequence[Limit]) -> Iterator[str]:
    """A figure that is not known breaks no limit: a limit on it would hold whatever the server does."""
    replied = [turn for turn in turns if turn.error is None and turn.usable is not False and not turn.stalled]
    replied = [turn for turn in replied if not 0 < (turn.completion_tokens or 0) <= SHORT]
    for figure in dict.fromkeys(limit.figure for limit in limits):
        one = next(limit for limit in limits if limit.figure == figure)
        unknown = sum(one.value(turn) is None for turn in replied)
        if unknown > MOST_UNMEASURED * len(replied):
            yield (
                f"{figure} is not known for {unknown} of {len(replied)} replies (no token counts, or whole replies at once), "
                "so that its limit cannot be checked"
            )


def idle(view: RunView) -> float:
    """Of the time from each session's first request to its last reply, the share without a request. What follows a request that
    was sent again says nothing: the server asked to wait."""
    if view.plan.get("timing") != "asap" or view.tools != "recorded":
        return 0.0
    waited = whole = 0
    for attempt in view.lanes[0].attempts:
        turns = sorted(
            (t for t in attempt.turns.values() if t.total_ns is not None), key=lambda turn: turn.at
        )
        reached = turns[0].at if turns else 0
        for before, turn in zip([None, *turns], turns, strict=False):
            if before is not None and before.retries:
                reached = turn.at
            end = turn.at + (turn.total_ns or 0)
            waited, whole = waited + max(0, turn.at - reached), whole + max(0, end - reached)
            reached = max(reached, end)
    return waited / whole if whole else 0.0


def too_idle(sessions: int, share: float) -> str | None:
    if share <= MOST_IDLE:
        return None
    return (
        f"at {sessions} sessions: this machine was too slow: {share:.0%} of the sessions' time passed before it sent the next request "
        f"(at most {MOST_IDLE:.0%} may), so that fewer sessions loaded the server"
    )
