"""A load recomputed from the lines of a journal alone: nothing of replayer is imported here."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

EDGES = ((1, "1"), (5, "2-5"), (20, "6-20"), (10**9, "21+"))


def quantile(values: list[float], share: float) -> float | None:
    """Type 7 of Hyndman and Fan."""
    ordered = sorted(values)
    if not ordered:
        return None
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


class Load:
    """One lane's load as its journal has it; times in seconds since the load began."""

    def __init__(self, folder: Path, lane: str) -> None:
        self.turns: dict[tuple[str, int], dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.started = self.ended = 0
        self.asked: int | None = None
        for line in (folder / "journal.jsonl").read_text().splitlines():
            self._line(json.loads(line), lane)

    def _line(self, event: dict[str, Any], lane: str) -> None:
        kind, session = event["type"], event.get("session", "")
        if kind == "load_started" and event["lane"] == lane:
            self.started, self.asked = event["at"], event["sessions"]
        elif kind == "load_ended" and event["lane"] == lane:
            self.ended = event["at"]
        elif not session.startswith(f"{lane}/"):
            return
        elif kind == "session_started":
            self.sessions[session] = {"from": self._second(event), "late": event["late_ns"], "to": None}
        elif kind == "session_finished":
            self.sessions[session] |= {"to": self._second(event), "outcome": event["outcome"]}
        elif kind == "turn_started":
            self.turns[session, event["turn"]] = {"sent": self._second(event)}
        elif kind == "turn_finished":
            self.turns[session, event["turn"]] |= event
        elif kind == "verdict":
            self.turns[session, event["turn"]]["usable"] = event["usable"]

    def _second(self, event: dict[str, Any]) -> float:
        return float((event["at"] - self.started) / 1e9)

    @property
    def length(self) -> float:
        return (self.ended - self.started) / 1e9

    @property
    def asked_at(self) -> dict[str, float]:
        """When each session was due: its start less the lateness that is recorded with it."""
        return {name: one["from"] - one["late"] / 1e9 for name, one in self.sessions.items()}

    def later_than(self, seconds: float) -> float:
        """Share of the sessions, and a rounding; no distance of their starts to the times asked for can be larger."""
        late = sum(one["late"] / 1e9 > seconds for one in self.sessions.values())
        return late / len(self.sessions) + 1e-9

    def alive(self, at: float) -> int:
        return sum(
            one["from"] <= at and (one["to"] is None or at < one["to"]) for one in self.sessions.values()
        )

    def window(self, warm_up: float = 0.0) -> list[tuple[float, float]]:
        """At least 90 % of those asked for alive; shorter dips than a second bridged."""
        if self.asked is None:
            return [(warm_up, self.length)]
        edges = {warm_up, self.length}
        for one in self.sessions.values():
            edges |= {one["from"], self.length if one["to"] is None else one["to"]}
        marks = sorted(edge for edge in edges if warm_up <= edge <= self.length)
        spans: list[tuple[float, float]] = []
        for low, high in pairwise(marks):
            if self.alive((low + high) / 2) >= 0.9 * self.asked:
                joined = spans and low - spans[-1][1] < 1.0
                spans = [*spans[:-1], (spans[-1][0], high)] if joined else [*spans, (low, high)]
        return spans

    def sent_within(self, window: list[tuple[float, float]]) -> dict[tuple[str, int], dict[str, Any]]:
        return {
            key: turn
            for key, turn in self.turns.items()
            if "total_ns" in turn and any(low <= turn["sent"] < high for low, high in window)
        }

    def output_tok_s(self, window: list[tuple[float, float]]) -> float:
        total = 0.0
        for turn in self.turns.values():
            if turn.get("ttft_ns") is None or turn["fault"]:
                continue
            first, last = turn["sent"] + turn["ttft_ns"] / 1e9, turn["sent"] + turn["total_ns"] / 1e9
            inside = sum(max(0.0, min(last, high) - max(first, low)) for low, high in window)
            at_once = any(low <= last < high for low, high in window)
            total += turn["usage"]["completion_tokens"] * (
                inside / (last - first) if last > first else at_once
            )
        return total / sum(high - low for low, high in window)

    def by_turn(self, window: list[tuple[float, float]]) -> dict[str, dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for (_, number), turn in self.sent_within(window).items():
            name = next(name for last, name in EDGES if number + 1 <= last)
            found.setdefault(name, []).append(turn)
        return {
            name: {
                "turns": len(turns),
                "usable": sum(turn["usable"] for turn in turns) / len(turns),
                "p50": quantile([turn["ttft_ns"] / 1e6 for turn in turns if turn["lag_ns"] <= 5e6], 0.5),
                "p95": quantile([turn["ttft_ns"] / 1e6 for turn in turns if turn["lag_ns"] <= 5e6], 0.95),
                "reused": sum(turn["usage"]["cached_tokens"] for turn in turns)
                / sum(turn["usage"]["prompt_tokens"] for turn in turns),
            }
            for name, turns in found.items()
        }
