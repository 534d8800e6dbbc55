"""A whole log to the figures that the same server's metrics would give, for people who have only the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from statistics import quantiles
from typing import Literal, TypeVar

from replayer.engines.logs.patterns import LogSample, LogSettings, clean, read_settings
from replayer.engines.registry import KINDS
from replayer.lazy import dataclass
from replayer.signals.bands import Bands, Window, find_bands
from replayer.wire.types import JsonObject

Number = TypeVar("Number", int, float)
Source = Literal["counts", "batches", "printed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The values of single lines. `overall` is the figure of the whole log and says where it comes from: `counts`
    of tokens, `batches` weighted by the requests that ran in each, else the `printed` values' mean."""

    n: int
    min: float | None = None
    p5: float | None = None
    p50: float | None = None
    p95: float | None = None
    max: float | None = None
    overall: float | None = None
    overall_from: Source | None = None


@dataclass(frozen=True, slots=True)
class HitRate:
    """First and last printed rate (vLLM), or from the token counts of all prefills (SGLang)."""

    first: float | None = None
    last: float | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFigures:
    """The document of `logs --json`."""

    kind: str | None
    samples: int
    decode_tok_s: Spread
    prefill_tok_s: Spread
    acceptance_rate: Spread
    acceptance_length: Spread
    prefix_hit_rate: HitRate
    kv_pool_tokens: int | None
    kv_peak_used: float | None
    waiting_peak: int | None
    preemptions: int | None
    """Requests that lost their place in the KV pool; None where the log has no word for it."""
    bands: Bands
    settings: LogSettings
    failure: str | None

    def as_data(self) -> JsonObject:
        bands = asdict(self.bands)
        del bands["windows"]
        bands["few_windows"] = bands.pop("few")
        return asdict(self) | bands | {"settings": self.settings.as_data()}


_DRAFTS = ("acceptance_rate", "acceptance_length", "drafted", "accepted")


def read_samples(lines: Iterable[str]) -> list[LogSample]:
    """The samples of a log in order; a line about drafts is joined to the line about speed that it belongs to."""
    samples: list[LogSample] = []
    for line in lines:
        sample = _read_line(clean(line))
        if sample is None:
            continue
        last = samples[-1] if samples else None
        drafts = sample.decode_tok_s is None and sample.acceptance_rate is not None
        is_prompt = (
            last and last.kind == "llamacpp" and last.decode_tok_s is None and last.new_tokens is not None
        )
        if last and drafts and last.decode_tok_s is not None and last.acceptance_rate is None:
            samples[-1] = replace(last, **{name: getattr(sample, name) for name in _DRAFTS})
        elif last and is_prompt and sample.kind == "llamacpp" and sample.decode_tok_s is not None:
            samples[-1] = replace(last, decode_tok_s=sample.decode_tok_s)
        else:
            samples.append(sample)
    return samples


def _read_line(line: str) -> LogSample | None:
    for kind in KINDS.values():
        for mark, reader in kind.log.samples if kind.log else ():
            if mark in line and (sample := reader(line)):
                return replace(sample, kind=kind.name)
    return None


def last_sample(lines: Iterable[str]) -> LogSample | None:
    samples = read_samples(lines)
    return samples[-1] if samples else None


def summarise(lines: Sequence[str], kind: str | None = None) -> LogFigures:
    """`kind` keeps only that engine's lines; without it, the commonest one's."""
    samples = read_samples(lines)
    kinds = Counter(sample.kind for sample in samples)
    settings = read_settings(lines)
    chosen = kind or (kinds.most_common(1)[0][0] if kinds else settings.kind)
    samples = [sample for sample in samples if sample.kind == chosen]
    windows = [window for sample in samples if (window := _window(sample)) is not None]
    lost = _known([sample.preempted for sample in samples])
    return LogFigures(
        kind=chosen,
        samples=len(samples),
        decode_tok_s=spread([window.speed for window in windows]),
        prefill_tok_s=spread([s.prefill_tok_s for s in samples if s.prefill_tok_s]),
        acceptance_rate=_acceptance_rate(samples),
        acceptance_length=_acceptance_length(samples),
        prefix_hit_rate=hit_rate(samples),
        kv_pool_tokens=settings.kv_pool_tokens,
        kv_peak_used=max(_known([sample.kv_used for sample in samples]), default=None),
        waiting_peak=max(_known([sample.waiting for sample in samples]), default=None),
        preemptions=sum(lost) if lost else None,
        bands=find_bands(windows),
        settings=settings,
        failure=failure(lines) if not samples else None,
    )


def _window(sample: LogSample) -> Window | None:
    """A moment at which something was decoded. A vLLM line with nothing running covers a partly idle interval."""
    if not sample.decode_tok_s or sample.running == 0:
        return None
    load = float(sample.running) if sample.running is not None else None
    return Window(sample.decode_tok_s, sample.acceptance_rate, load)


def spread(values: Sequence[float], overall: float | None = None, source: Source | None = None) -> Spread:
    if not values:
        return Spread(n=0)
    cuts = quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]] * 19
    return Spread(
        n=len(values),
        min=min(values),
        p5=cuts[0],
        p50=cuts[9],
        p95=cuts[18],
        max=max(values),
        overall=overall,
        overall_from=source,
    )


def _acceptance_rate(samples: Sequence[LogSample]) -> Spread:
    """Accepted over drafted tokens where the lines count them."""
    values = _known([sample.acceptance_rate for sample in samples])
    counted = [(s.accepted, s.drafted) for s in samples if s.accepted is not None and s.drafted is not None]
    if drafted := sum(drafted for _, drafted in counted):
        return spread(values, sum(accepted for accepted, _ in counted) / drafted, "counts")
    return spread(values, *_weighted([(s.acceptance_rate, s.running) for s in samples]))


def _acceptance_length(samples: Sequence[LogSample]) -> Spread:
    """1 + accepted / drafts; a line's drafts follow from its accepted tokens and its own mean length."""
    values = _known([sample.acceptance_length for sample in samples])
    accepted = drafts = 0.0
    for sample in samples:
        if sample.accepted and sample.acceptance_length and sample.acceptance_length > 1:
            accepted += sample.accepted
            drafts += sample.accepted / (sample.acceptance_length - 1)
    if drafts:
        return spread(values, 1 + accepted / drafts, "counts")
    return spread(values, *_weighted([(s.acceptance_length, s.running) for s in samples]))


def _weighted(rows: Sequence[tuple[float | None, int | None]]) -> tuple[float | None, Source | None]:
    """Each decode line stands for as many steps of every request that ran."""
    known = [(value, running) for value, running in rows if value is not None]
    if not known:
        return None, None
    weights = [running for _, running in known if running]
    if len(weights) < len(known):
        return sum(value for value, _ in known) / len(known), "printed"
    return sum(value * (running or 0) for value, running in known) / sum(weights), "batches"


def hit_rate(samples: Sequence[LogSample]) -> HitRate:
    printed = _known([sample.hit_rate for sample in samples])
    if printed:
        return HitRate(printed[0], printed[-1], "printed")
    pairs = [
        (s.cached_tokens, s.new_tokens)
        for s in samples
        if s.cached_tokens is not None and s.new_tokens is not None
    ]
    if not pairs:
        return HitRate()
    cached, total = sum(c for c, _ in pairs), sum(c + n for c, n in pairs)
    return HitRate(pairs[0][0] / max(1, sum(pairs[0])), cached / total if total else None, "counts")


def failure(lines: Sequence[str]) -> str | None:
    """The last error of a log that shows no serving: why the server did not start."""
    errors = [clean(line).strip() for line in lines if "Error:" in line and "root cause above" not in line]
    return errors[-1][-300:] if errors else None


def _known(values: Iterable[Number | None]) -> list[Number]:
    return [value for value in values if value is not None]
