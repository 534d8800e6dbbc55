"""The sentences at the top of a report, made to be read aloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replayer.metrics.catalogue import ALL, PRIMARY
from replayer.metrics.stats import MIN_SESSIONS
from replayer.signals.prefix_reuse.causes import PHRASES


@dataclass(frozen=True, slots=True)
class Conclusions:
    """`lanes`: one sentence per lane. The comparisons that show a difference (`found`) and those that do not."""

    lanes: list[str]
    found: list[tuple[str, str]]
    """(`better`, `worse` or `differs`, sentence)."""
    open: list[str]


def conclude(document: dict[str, Any]) -> Conclusions:
    """The comparisons were decided as one family: of all that stands here, one in twenty reports says something false."""
    pairs = document["comparisons"]
    found = [(_direction(pair), pair["conclusion"]) for pair in pairs if pair["decided"]]
    undecided = [pair for pair in pairs if not pair["decided"]]
    return Conclusions(
        [*sweep_sentences(document), *(lane_sentence(lane) for lane in document["lanes"])],
        found,
        _open(undecided),
    )


def _direction(pair: dict[str, Any]) -> str:
    if pair["aa"]:
        return "differs"
    return "better" if (pair["difference"] > 0) == (pair["better"] == "higher") else "worse"


def _open(pairs: list[dict[str, Any]]) -> list[str]:
    sentences = []
    for a, b in dict.fromkeys((pair["a"], pair["b"]) for pair in pairs):
        mine = [pair for pair in pairs if (pair["a"], pair["b"]) == (a, b)]
        sentences += [f"{a} and {b}, {pair['conclusion']}." for pair in mine if pair["metric"] == PRIMARY]
        rest = [pair for pair in mine if pair["metric"] != PRIMARY]
        for told, words in (
            ("no evidence of a difference in", [_words(pair) for pair in rest if not _untested(pair)]),
            ("too few sessions to compare", [_words(pair) for pair in rest if _untested(pair)]),
        ):
            if words:
                sentences.append(f"{a} and {b}: {told} {and_list(words, 'or')}.")
    return sentences


def _words(pair: dict[str, Any]) -> str:
    return ALL[pair["metric"]].words


def _untested(pair: dict[str, Any]) -> bool:
    """A mean over fewer sessions than any test needs."""
    return pair["n_sessions"] < MIN_SESSIONS and not pair["sequential"] and not ALL[pair["metric"]].rate


def and_list(words: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def sweep_sentences(document: dict[str, Any]) -> list[str]:
    """What a sweep shows: where a ramp saturates, where lanes cross over, which settings are best."""
    ramps = [
        f"{ramp['ramp']} delivered {ramp['peak']:,.0f} tok/s at best, with {ramp['peak_at']:g} requests at once; "
        + (
            f"from {ramp['level']:g} on, more bring less than 5 % more."
            if ramp["saturated"]
            else "more would perhaps bring more."
        )
        for ramp in document["saturation"]
    ]
    crossings = [f"Answer lengths: {pair['conclusion']}." for pair in document["crossovers"]]
    ranking = document["ranking"]
    return ramps + crossings + ([f"Settings: {ranking['conclusion']}."] if ranking else [])


def lane_sentence(lane: dict[str, Any]) -> str:
    """What one lane did, in words."""
    rate = lane["usable_turn_rate"]
    name = lane["lane"]
    if not rate["n"]:
        return f"{name} gave no answer that could be judged ({lane['turns']} turns)."
    good = round(rate["value"] * rate["n"])
    words = (
        f"{name} answered {lane['turns']} turns; {good} of {rate['n']} turns were usable: {rate['value']:.1%} "
        f"(95 % interval {rate['low']:.0%} to {rate['high']:.0%})."
    )
    return words + _troubles(lane) + _prefix(lane["prefix_cache"]) + _bands(lane)


def _troubles(lane: dict[str, Any]) -> str:
    collapsed = lane["repetition"]["collapsed_turns"]
    faults = [f"{name} in {n}" for name, n in lane["faults"].items() if name != "collapsed"]
    errors = [f"{kind} in {n}" for kind, n in lane["errors"].items()]
    words = f" {collapsed} fell into repetition." if collapsed else ""
    words += f" Faults found: {', '.join(faults)}." if faults else ""
    words += f" Engine errors: {', '.join(errors)}." if errors else ""
    return words or " No fault was found."


def _prefix(prefix: dict[str, Any]) -> str:
    ideal, reported = prefix["ideal"], prefix["reported"]
    if ideal is None or reported is None:
        return ""
    cause = (
        f" (chief cause: {PHRASES.get(prefix['cause'], prefix['cause'])})"
        if prefix["cause"] and ideal - reported > 0.01
        else ""
    )
    evicted = prefix["evicted"]
    gone = f"; another {evicted:.1%} had been evicted before it was needed again" if evicted else ""
    return f" Its prefix cache served {reported:.1%} of the prompts, of {ideal:.1%} possible{cause}{gone}."


def _bands(lane: dict[str, Any]) -> str:
    if not lane["bands"]:
        return ""
    speeds = " and ".join(f"{band['median']:.0f}" for band in lane["bands"])
    share = lane["band_fit"]["explained_by_acceptance"]
    why = f"; draft acceptance explains {share:.0%} of it" if share is not None else ""
    return f" Its decode speed falls into separate bands around {speeds} tok/s{why}."


def few_sessions(document: dict[str, Any]) -> bool:
    return any(pair["n_sessions"] < MIN_SESSIONS for pair in document["comparisons"])
