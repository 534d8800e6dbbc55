"""What one turn says of each figure. None: nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replayer.journal.events import CHANNELS
from replayer.signals.repetition.finding import AT_THE_LIMIT

if TYPE_CHECKING:
    from replayer.journal.turns import TurnFacts

Count = tuple[float, float]
"""What a turn adds to a figure: numerator and denominator."""

NOT_RUN = ("recorded", "not_executable_here")
"""Outcomes of tool calls that were not executed."""
_CHARS_PER_TOKEN = 4


def usable(turn: TurnFacts) -> Count | None:
    return None if turn.usable is None else (float(turn.usable), 1)


def invalid_calls(turn: TurnFacts) -> Count | None:
    return None if turn.usable is None or not turn.calls else (turn.invalid_calls, turn.calls)


def failed_calls(turn: TurnFacts) -> Count | None:
    if not turn.tool_outcomes:
        return None
    ran = [outcome for outcome in turn.tool_outcomes if outcome not in NOT_RUN]
    return (sum(outcome != "ok" for outcome in ran), len(ran)) if ran else None


def has_collapsed(turn: TurnFacts) -> bool:
    return turn.collapse is not None or any(mark.klass == "collapsed" for mark in turn.marks)


def collapsed(turn: TurnFacts) -> Count | None:
    return (float(has_collapsed(turn)), 1) if turn.answered else None


def failed(turn: TurnFacts) -> Count | None:
    return None if turn.total_ns is None else (float(turn.error is not None), 1)


def schema_valid(turn: TurnFacts) -> Count | None:
    return None if turn.schema_valid is None else (float(turn.schema_valid), 1)


def cached(turn: TurnFacts) -> Count | None:
    """Tokens, so that a long prompt weighs as much as it costs. From usage, else from the finding's counters."""
    if turn.cached_tokens is not None and turn.prompt_tokens:
        return (turn.cached_tokens, turn.prompt_tokens) if turn.cached_tokens <= turn.prompt_tokens else None
    finding = turn.prefix if turn.cached_tokens is None else None
    if finding and finding.get("reported_tokens") is not None and finding["prompt_tokens"]:
        return finding["reported_tokens"], finding["prompt_tokens"]
    return None


def decoded(turn: TurnFacts) -> Count | None:
    """Tokens after the first delta, and the seconds that they took; after the first token where a call came first."""
    if not turn.decode_ns or turn.stalled or not (tokens := turn.decoded_tokens):
        return None
    return tokens, turn.decode_ns / 1e9


def decode_tok_s(turn: TurnFacts) -> float | None:
    count = decoded(turn)
    return count[0] / count[1] if count else None


def prefilled(turn: TurnFacts) -> Count | None:
    """Prompt tokens not taken from the cache, and the seconds until the engine had its first token."""
    if turn.cached_tokens is None or turn.prefilled_tokens is None or not turn.prefill_ns or turn.stalled:
        return None
    return turn.prefilled_tokens, turn.prefill_ns / 1e9


def accepted(turn: TurnFacts) -> Count | None:
    """Drafted tokens that were accepted, where the engine counts them per request."""
    return (turn.accepted or 0, turn.drafted) if turn.drafted else None


def ttft_ms(turn: TurnFacts) -> float | None:
    """Of every turn whose first token came; one that brought none is a fault, never a sample."""
    return None if turn.ttft_ns is None or turn.stalled else turn.ttft_ns / 1e6


def tpot_ms(turn: TurnFacts) -> float | None:
    if turn.error is not None or turn.stalled or (time := turn.tpot_ns) is None:
        return None
    return time / 1e6


def e2e_ms(turn: TurnFacts) -> float | None:
    """Of whole replies whose time is known only: an audited recording may have none, which is kept as 0."""
    if not turn.total_ns or turn.error is not None or turn.stopped or turn.stalled:
        return None
    return turn.total_ns / 1e6


def at_the_limit(turn: TurnFacts) -> bool:
    """Seen only once the token limit had ended the reply: whether it would have gone on is not known."""
    return turn.collapse is not None and turn.collapse.get("note") == AT_THE_LIMIT


def wasted_tokens(turn: TurnFacts) -> int:
    """Tokens generated after the onset.

    A stopped stream: the characters up to the alarm, four to a token. A reply that was left running went on to its end:
    the share of its characters after the onset, of the tokens that it was billed.
    """
    if turn.collapse is None:
        return 0
    until_alarm = int(turn.collapse.get("wasted_chars", 0))
    whole = dict(zip(CHANNELS, turn.chars, strict=True)).get(str(turn.collapse.get("channel")), 0)
    after = max(until_alarm, whole - int(turn.collapse.get("onset", whole)))
    if turn.stopped or turn.completion_tokens is None or not whole or false_alarm(turn):
        return until_alarm // _CHARS_PER_TOKEN
    return round(turn.completion_tokens * min(1.0, after / max(sum(turn.chars), after)))


def false_alarm(turn: TurnFacts) -> bool:
    """Left running, the reply came to a sound end by itself."""
    ended = turn.finish_reason in ("stop", "tool_calls") and turn.error is None
    return not turn.stopped and ended and set(turn.fatal) <= {"collapsed"}
