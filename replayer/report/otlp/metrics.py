"""The metrics of a run (those of its Prometheus page) in the OTLP/JSON form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from replayer.report.otlp.form import attributes, origin_of
from replayer.run.metrics_page import GENAI, MetricsPage
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample

_CUMULATIVE = 2
_ATTRIBUTES = {name.replace(".", "_"): name for name in GENAI} | {
    "lane": "replayer.lane", "fault": "replayer.fault", "blame": "replayer.blame",
}  # fmt: skip
Times = tuple[int, int]
"""When counting began, and now, in nanoseconds since the epoch."""


def request(page: MetricsPage, times: Times, resource: dict[str, object]) -> bytes:
    """An `ExportMetricsServiceRequest`."""
    about, scope = origin_of(resource)
    found = [_metric(page, family, times) for family in page.registry.collect() if family.samples]
    return orjson.dumps(
        {"resourceMetrics": [{"resource": about, "scopeMetrics": [{"scope": scope, "metrics": found}]}]}
    )


def _metric(page: MetricsPage, family: Metric, times: Times) -> JsonObject:
    own = family.name.replace("replayer_", "replayer.", 1), "s" if family.name.endswith("_seconds") else "1"
    name, unit = page.conventions.get(family.name, own)
    about = {"name": name, "unit": unit, "description": family.documentation}
    if family.type == "histogram":
        points = [_histogram(samples, times) for samples in _by_labels(family.samples)]
        return about | {"histogram": {"dataPoints": points, "aggregationTemporality": _CUMULATIVE}}
    values = [_point(sample, times) | {"asDouble": sample.value} for sample in family.samples]
    if family.type == "gauge":
        return about | {"gauge": {"dataPoints": values}}
    counted = {"dataPoints": values, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
    return about | {"sum": counted}


def _by_labels(samples: list[Sample]) -> Iterator[list[Sample]]:
    found: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        key = tuple(value for name, value in sample.labels.items() if name != "le")
        found.setdefault(key, []).append(sample)
    yield from found.values()


def _histogram(samples: list[Sample], times: Times) -> JsonObject:
    """Prometheus counts all up to a bound, OTLP what lies between two."""
    upto = [int(sample.value) for sample in samples if sample.name.endswith("_bucket")]
    bounds = [float(sample.labels["le"]) for sample in samples if sample.name.endswith("_bucket")]
    return _point(samples[0], times) | {
        "count": str(upto[-1]),
        "sum": next(sample.value for sample in samples if sample.name.endswith("_sum")),
        "explicitBounds": bounds[:-1],
        "bucketCounts": [str(now - before) for before, now in zip([0, *upto], upto, strict=False)],
    }


def _point(sample: Sample, times: Times) -> JsonObject:
    labels = {_ATTRIBUTES[name]: value or None for name, value in sample.labels.items() if name != "le"}
    return {
        "attributes": attributes(labels),
        "startTimeUnixNano": str(times[0]),
        "timeUnixNano": str(max(times)),
    }
