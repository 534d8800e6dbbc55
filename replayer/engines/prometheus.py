"""A metrics page in Prometheus text, read once and asked by name."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache

from replayer.lazy import dataclass

STARTED = "process_start_time_seconds"
"""Of the server's process, where it says so: it changes with a restart, whatever the counters come to."""

_MOST = 1e15
_WHOLE = re.compile("[0-9]{1,10}")
_SKIP = re.compile(r"^(?:#|[^ {]*_(?:bucket|created)[ {])")


@dataclass(frozen=True, slots=True)
class Page:
    """Samples by name: (labels, value). Histogram buckets, and values that are not numbers, are left out."""

    samples: dict[str, list[tuple[dict[str, str], float]]] = field(default_factory=dict)

    def of_model(self, model: str | None) -> Page:
        """The page of one of several models that share it; the page itself where it does not name them."""
        found = {
            have["model_name"] for rows in self.samples.values() for have, _ in rows if "model_name" in have
        }
        if len(found) < 2 or model not in found:
            return self
        return Page(
            {
                name: kept
                for name, rows in self.samples.items()
                if (kept := [row for row in rows if row[0].get("model_name", model) == model])
            }
        )

    def under(self, prefix: str) -> Page:
        """The samples of one family of names, by what follows its prefix."""
        rows = self.samples.items()
        return Page({name.removeprefix(prefix): found for name, found in rows if name.startswith(prefix)})

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
            if (position := whole_label(labels, "position")) is not None:
                sums[position] = sums.get(position, 0.0) + value
        return tuple(sums[position] for position in sorted(sums)) or None


def whole_label(labels: dict[str, str], name: str) -> int | None:
    """A count that stands in a label; None for anything else."""
    value = labels.get(name, "")
    return int(value) if _WHOLE.fullmatch(value) else None


def parse(text: str, wanted: frozenset[str] | None = None) -> Page:
    """Raises ValueError for text that is not a metrics page.

    Only samples named in `wanted` are parsed: a whole page takes 8 to 12 ms, which the loop that stamps deltas
    cannot spare; the three dozen that an adapter reads take about 1 ms.
    """
    every = (line for line in text.splitlines() if not _SKIP.match(line))
    lines = every if wanted is None else _pattern(wanted).findall(text)
    samples: dict[str, list[tuple[dict[str, str], float]]] = {}
    for name, labels, value in _read([_EXEMPLAR.sub("", line) for line in lines]):
        if abs(value) <= _MOST:  # neither NaN nor infinite, nor will a sum be
            samples.setdefault(name, []).append((labels, value))
    return Page(samples)


_EXEMPLAR = re.compile(r" # \{.*$")
"""OpenMetrics may put one behind a value."""


def _read(lines: Sequence[str]) -> list[tuple[str, dict[str, str], float]]:
    """All samples; where a line cannot be read, those of the others. Raises ValueError where none can."""
    try:
        return list(_samples("\n".join(lines)))
    except ValueError:
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found += list(_samples(line))
        if not found:
            raise
        return found


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    from prometheus_client.parser import text_string_to_metric_families  # 50 ms that a start can do without

    for family in text_string_to_metric_families(text + "\n"):
        for sample in family.samples:
            yield sample.name, dict(sample.labels), float(sample.value)


@lru_cache(maxsize=16)
def _pattern(wanted: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(map(re.escape, sorted(wanted)))})[ {{].*$", re.MULTILINE)
