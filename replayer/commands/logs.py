"""Read the log of vLLM, SGLang or llama.cpp: throughput, draft acceptance, cache use, and the speed bands.

Examples:
  replayer logs server.log --json
  docker logs vllm 2>&1 | replayer logs -

Container, journald and colour prefixes do not matter; - reads standard input.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replayer.commands.flags import flag
from replayer.engines.logs.log_figures import LogFigures, Spread, summarise
from replayer.engines.logs.patterns import LogSettings
from replayer.engines.registry import KINDS
from replayer.errors import ReplayerError
from replayer.text import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a log file, or - for standard input")
    flag(
        parser,
        "--kind",
        "default: the commonest in the file",
        choices=[name for name, kind in KINDS.items() if kind.log],
    )
    flag(parser, "--json", "print one JSON document")


def run(args: argparse.Namespace) -> int:
    found = summarise(read(args.file), args.kind)
    if not found.samples and found.failure is None and not found.settings.effective:
        raise ReplayerError(
            f"{args.file}: no line of a vLLM, SGLang or llama.cpp server in it; is this the server's own log?"
        )
    if args.json:
        print_json(found.as_data(), indent=True)
    else:
        print(text(found))
    return 0


def read(name: str) -> list[str]:
    """The lines of a log. Raises ReplayerError for a file that cannot be read."""
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
    try:
        return Path(name).read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise ReplayerError(f"{name}: cannot be read ({error.strerror})") from None


def text(found: LogFigures) -> str:
    """The same for people."""
    lines = [f"{found.kind or 'unknown engine'}, {found.samples} samples"]
    if found.failure:
        lines.append(f"it never served; its last error: {found.failure}")
    lines += [
        _row("decode tok/s", found.decode_tok_s, 1, ""),
        _row("prefill tok/s", found.prefill_tok_s, 1, ""),
        _row("acceptance rate", found.acceptance_rate, 100, " %"),
        _row("acceptance length", found.acceptance_length, 1, ""),
    ]
    hit = found.prefix_hit_rate
    if hit.first is not None and hit.last is not None:
        lines.append(f"{'prefix hit rate':<18} {hit.first:.1%} first, {hit.last:.1%} last")
    if found.kv_pool_tokens:
        swa = found.settings.swa_pool_tokens
        lines.append(f"{'KV pool':<18} {found.kv_pool_tokens:,} tokens" + (f", SWA {swa:,}" if swa else ""))
    if found.kv_peak_used is not None:
        lines.append(f"{'KV pool used':<18} {found.kv_peak_used:.0%} at most")
    if found.waiting_peak or found.preemptions:
        lost = "" if found.preemptions is None else f"; {found.preemptions} preempted"
        lines.append(f"{'waiting':<18} {found.waiting_peak or 0} requests at most{lost}")
    return "\n".join(lines + _bands(found) + _settings(found.settings))


_ORIGINS = {"counts": "from counts", "batches": "weighted by requests", "printed": "mean of lines"}


def _row(name: str, spread: Spread, factor: float, unit: str) -> str:
    """The figure of the whole log where there is one, else the median line."""
    if spread.min is None or spread.p50 is None or spread.max is None:
        return f"{name:<18} not in this log"
    middle = spread.p50 if spread.overall is None else spread.overall
    origin = f"{_ORIGINS[spread.overall_from]}; lines " if spread.overall_from else ""
    low, high = spread.min * factor, spread.max * factor
    return f"{name:<18} {middle * factor:.4g}{unit} ({origin}from {low:.4g} to {high:.4g}, n={spread.n})"


def _bands(found: LogFigures) -> list[str]:
    bands = found.bands
    if len(bands.bands) < 2:
        return ["speed bands        none: one band" if bands.bands else "speed bands        no decoding seen"]
    lines = [f"speed bands        {len(bands.bands)}" + (" (few windows)" if bands.few else "")]
    for band in bands.bands:
        acceptance = "" if band.acceptance is None else f", acceptance {band.acceptance:.1%}"
        lines.append(f"  {band.low:.1f} to {band.high:.1f} tok/s, {band.share:.0%} of windows{acceptance}")
    explained = {"acceptance": bands.explained_by_acceptance, "load": bands.explained_by_load}
    return lines + [
        f"  {what} explains {share:.0%} of the variance of speed"
        for what, share in explained.items()
        if share is not None
    ]


def _settings(settings: LogSettings) -> list[str]:
    lines = [f"asked              {key} = {value}" for key, value in settings.asked.items()]
    lines += [
        f"effective          {key} = {value}"
        for key, value in settings.effective.items()
        if value is not None
    ]
    return lines + [f"the server says    {note}" for note in settings.notes]
