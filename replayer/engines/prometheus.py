"""A metrics page in Prometheus text, read once and asked by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from prometheus_client.parser import text_string_to_metric_families

_SKIP = re.compile(r"^(?:#|[^ {]*_(?:bucket|created)[ {])")


@dataclass(frozen=True, slots=True)
class Page:
    """Samples by name: (labels, value). Histogram buckets are left out."""

    samples: dict[str, list[tuple[dict[str, str], float]]] = field(default_factory=dict)

    def total(self, name: str, **labels: str) -> float | None:
        """The sum over all ranks, engines and models; None where the page has no such sample."""
        values = self.values(name, **labels)
        return sum(values) if values else None

    def mean(self, name: str) -> float | None:
        values = self.values(name)
        return sum(values) / len(values) if values else None

    def values(self, name: str, **labels: str) -> list[float]:
        found = self.samples.get(name, [])
        return [value for have, value in found if all(have.get(k) == v for k, v in labels.items())]

    def labels(self, name: str) -> dict[str, str]:
        """The labels of the first such sample: an info metric's content."""
        found = self.samples.get(name)
        return found[0][0] if found else {}

    def by_position(self, name: str) -> tuple[float, ...] | None:
        """Sums per `position` label, in order."""
        sums: dict[int, float] = {}
        for labels, value in self.samples.get(name, []):
            if labels.get("position", "").isdigit():
                position = int(labels["position"])
                sums[position] = sums.get(position, 0.0) + value
        return tuple(sums[position] for position in sorted(sums)) or None


def parse(text: str, wanted: frozenset[str] | None = None) -> Page:
    """Raises ValueError for text that is no metrics page.

    Only samples named in `wanted` are parsed: a whole page takes 8 to 12 ms, which the loop that stamps deltas
    cannot spare; the three dozen that an adapter reads take about 1 ms.
    """
    lines = _every(text) if wanted is None else _pattern(wanted).findall(text)
    samples: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((dict(sample.labels), float(sample.value)))
    return Page(samples)


def _every(text: str) -> list[str]:
    return [line for line in text.splitlines() if not _SKIP.match(line)]


@lru_cache(maxsize=16)
def _pattern(wanted: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(map(re.escape, sorted(wanted)))})[ {{].*$", re.MULTILINE)


def known(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Only what the page really has."""
    return {name: value for name, value in values if value is not None}
