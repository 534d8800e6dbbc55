"""A whole log to the figures that the same server's metrics would give, for people who have only the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from replayer.engines.logs.lines import LogSample, clean, read_line
from replayer.engines.logs.settings import read_settings
from replayer.metrics.stats import quantile
from replayer.signals.bands import Window, find_bands

QUANTILES = {"p5": 0.05, "p50": 0.5, "p95": 0.95}


def read_samples(lines: Iterable[str]) -> list[LogSample]:
    """The samples of a log in order; a line about drafts is joined to the line about speed that it belongs to."""
    samples: list[LogSample] = []
    for line in lines:
        sample = read_line(clean(line))
        if sample is None:
            continue
        if _only_drafts(sample) and samples and _lacks_drafts(samples[-1]):
            samples[-1] = samples[-1].with_drafts(sample)
        elif (
            sample.kind == "llamacpp"
            and sample.decode_tok_s is not None
            and samples
            and _is_prompt(samples[-1])
        ):
            samples[-1] = replace(samples[-1], decode_tok_s=sample.decode_tok_s)
        else:
            samples.append(sample)
    return samples


def last_sample(lines: Iterable[str]) -> LogSample | None:
    samples = read_samples(lines)
    return samples[-1] if samples else None


def _only_drafts(sample: LogSample) -> bool:
    return sample.decode_tok_s is None and sample.acceptance_rate is not None


def _lacks_drafts(sample: LogSample) -> bool:
    return sample.decode_tok_s is not None and sample.acceptance_rate is None


def _is_prompt(sample: LogSample) -> bool:
    return sample.kind == "llamacpp" and sample.decode_tok_s is None and sample.new_tokens is not None


def summarise(lines: Sequence[str], kind: str | None = None) -> dict[str, Any]:
    """The document of `logs --json`. `kind` keeps only that engine's lines; without it, the commonest one's."""
    samples = read_samples(lines)
    kinds = Counter(sample.kind for sample in samples)
    settings = read_settings(lines)
    chosen = kind or (kinds.most_common(1)[0][0] if kinds else settings.kind)
    samples = [sample for sample in samples if sample.kind == chosen]
    windows = decode_windows(samples)
    bands = find_bands(windows)
    return {
        "kind": chosen,
        "samples": len(samples),
        "decode_tok_s": spread([window.speed for window in windows]),
        "prefill_tok_s": spread([s.prefill_tok_s for s in samples if s.prefill_tok_s]),
        "acceptance_rate": spread(_known(samples, "acceptance_rate")),
        "acceptance_length": spread(_known(samples, "acceptance_length")),
        "prefix_hit_rate": hit_rate(samples),
        "kv_pool_tokens": settings.kv_pool_tokens,
        "kv_peak_used": max(_known(samples, "kv_used"), default=None),
        "bands": [
            {"low": b.low, "high": b.high, "median": b.median, "share": b.share, "acceptance": b.acceptance}
            for b in bands.bands
        ],
        "explained_by_acceptance": bands.explained_by_acceptance,
        "explained_by_load": bands.explained_by_load,
        "few_windows": bands.few,
        "settings": settings.as_data(),
        "failure": failure(lines) if not samples else None,
    }


def decode_windows(samples: Sequence[LogSample]) -> list[Window]:
    """Moments at which something was decoded. A vLLM line with nothing running covers a partly idle interval."""
    return [
        Window(s.decode_tok_s, s.acceptance_rate, float(s.running) if s.running is not None else None)
        for s in samples
        if s.decode_tok_s and s.running != 0
    ]


def spread(values: Sequence[float]) -> dict[str, float | int | None]:
    ordered = sorted(values)
    marks: dict[str, float | int | None] = {"n": len(ordered), "min": ordered[0] if ordered else None}
    marks |= {name: quantile(ordered, share) for name, share in QUANTILES.items()}
    return marks | {"max": ordered[-1] if ordered else None}


def hit_rate(samples: Sequence[LogSample]) -> dict[str, Any]:
    """First and last printed rate (vLLM), or from the token counts of all prefills (SGLang)."""
    printed = _known(samples, "hit_rate")
    if printed:
        return {"first": printed[0], "last": printed[-1], "source": "printed"}
    pairs = [
        (s.cached_tokens, s.new_tokens)
        for s in samples
        if s.cached_tokens is not None and s.new_tokens is not None
    ]
    if not pairs:
        return {"first": None, "last": None, "source": None}
    cached, total = sum(c for c, _ in pairs), sum(c + n for c, n in pairs)
    first = pairs[0][0] / max(1, sum(pairs[0]))
    return {"first": first, "last": cached / total if total else None, "source": "counts"}


def failure(lines: Sequence[str]) -> str | None:
    """The last error of a log that shows no serving: why the server did not start."""
    errors = [clean(line).strip() for line in lines if "Error:" in line and "root cause above" not in line]
    return errors[-1][-300:] if errors else None


def _known(samples: Sequence[LogSample], name: str) -> list[float]:
    return [value for sample in samples if (value := getattr(sample, name)) is not None]
