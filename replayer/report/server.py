"""What the servers themselves say, as rows of the table: pools, bands, energy, and the facts in which lanes differ."""

from __future__ import annotations

from collections.abc import Callable

from replayer.metrics.documents import LaneFigures
from replayer.metrics.shown import DASH
from replayer.text import safe
from replayer.wire.types import JsonObject

Rows = list[tuple[str, list[str]]]

WIDEST = 28
"""Characters of a fact in a session."""


def server_rows(lanes: list[LaneFigures]) -> Rows:
    """Rows that say something for at least one lane."""
    made: list[tuple[str, Callable[[LaneFigures], str]]] = [
        ("speed bands", _bands),
        ("  explained by acceptance", _explained),
        ("GPU", _gpu_names),
        ("GPU peak (use, mem, power)", _gpu_peaks),
        ("energy per token", _energy),
        ("external cache tokens", _external),
        ("cached on device, host, remote", _tiers),
    ]
    rows = [(label, [session(lane) for lane in lanes]) for label, session in made]
    return [row for row in rows if any(text != DASH for text in row[1])] + differing_facts(lanes)


def differing_facts(lanes: list[LaneFigures]) -> Rows:
    """Facts in which lanes differ; the KV pool has a row of its own. Kinds tell different things, so a fact that only
    one lane tells is a difference between lanes of one kind only."""
    names = dict.fromkeys(name for lane in lanes for name in lane.facts if name != "kv_pool_tokens")
    return [
        (f"  {name.replace('_', ' ')}", [_fact(lane.facts.get(name)) for lane in lanes])
        for name in names
        if _differs(lanes, name)
    ]


def _differs(lanes: list[LaneFigures], name: str) -> bool:
    found = [lane.facts[name] for lane in lanes if name in lane.facts]
    kinds = {lane.kind for lane in lanes if name in lane.facts}
    silent = any(lane.kind in kinds for lane in lanes if name not in lane.facts)
    return silent or any(value != found[0] for value in found)


def server_notes(lanes: list[LaneFigures]) -> list[str]:
    """What makes a lane's server figures less than complete."""
    notes = []
    for lane in lanes:
        server, name = lane.server, safe(lane.lane)
        if server is None:
            continue
        if server["resets"]:
            notes.append(
                f"{name}: its engine's counters fell {server['resets']}×: a restart; server figures are lower bounds"
            )
        if server["missing"] and server["why"] != ["off"]:
            notes.append(
                f"{name}: {server['missing']} metrics readings failed ({safe(', '.join(server['why']))})"
            )
        foreign = server["foreign_tokens"]["generated"]
        if foreign and foreign > 0:
            notes.append(
                f"{name}: the server generated {foreign:,.0f} tokens that this run did not ask for: shared engine?"
            )
    return notes


def _bands(lane: LaneFigures) -> str:
    if not lane.bands:
        return DASH
    few = " (few)" if (lane.band_fit or {}).get("few") else ""
    return (
        " | ".join(f"{band['low']:.0f}–{band['high']:.0f} {band['share']:.0%}" for band in lane.bands) + few
    )


def _explained(lane: LaneFigures) -> str:
    share = lane.band_fit["explained_by_acceptance"] if lane.band_fit and lane.bands else None
    return DASH if share is None else f"{share:.0%}"


def _gpu_names(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    return safe(", ".join(gpu["names"])) if gpu and gpu["names"] else DASH


def _gpu_peaks(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    if gpu is None:
        return DASH
    use, memory, power = gpu["peak_utilisation"], gpu["peak_memory_bytes"], gpu["peak_power_w"]
    shown = (
        DASH if use is None else f"{use:.0%}",
        DASH if memory is None else f"{memory / 2**30:.1f} GiB",
        DASH if power is None else f"{power:.0f} W",
    )
    return " · ".join(shown)


def _gpu(lane: LaneFigures) -> JsonObject | None:
    found: JsonObject | None = (lane.server or {}).get("gpu")
    return found


def _energy(lane: LaneFigures) -> str:
    gpu = _gpu(lane)
    if gpu is None:
        return DASH
    if gpu.get("shared_with"):
        others = [name for name in gpu["shared_with"] if name != lane.lane]
        return safe(f"shared with {', '.join(others)}")
    joules = gpu["energy_per_token_j"]
    return DASH if joules is None else f"{joules:.3g} J"


def _tiers(lane: LaneFigures) -> str:
    """Where cached tokens came from; only where the engine has more than one tier."""
    tokens, by_tier = (lane.server or {"tokens": {}})["tokens"], lane.tokens.cached_by_tier
    tiers = [
        by_tier.get(tier) if by_tier else tokens.get(f"cached_{tier}")
        for tier in ("device", "host", "remote")
    ]
    if tiers[1] is None and tiers[2] is None:
        return DASH
    return " / ".join(DASH if count is None else f"{count:,.0f}" for count in tiers)


def _external(lane: LaneFigures) -> str:
    tokens = (lane.server or {"tokens": {}})["tokens"].get("external_cached")
    return f"{tokens:,.0f}" if tokens else DASH


def _fact(value: object) -> str:
    if value is None:
        return DASH
    if isinstance(value, dict):
        value = ", ".join(f"{key}={item}" for key, item in value.items())
    text = safe(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
