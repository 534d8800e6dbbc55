"""`replayer logs`: figures from an engine's log file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import orjson

from replayer.engines.logs.summary import summarise
from replayer.errors import ReplayerError


class Command:
    """Read the log of vLLM, SGLang or llama.cpp: throughput, draft acceptance, cache use, and the speed bands.

    replayer logs server.log --json

    Container, journald and colour prefixes do not matter; - reads standard input.
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a log file, or - for standard input")
        parser.add_argument(
            "--kind", choices=["vllm", "sglang", "llamacpp"], help="default: the commonest in the file"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def run(self, args: argparse.Namespace) -> int:
        found = summarise(read(args.file), args.kind)
        if not found["samples"] and found["failure"] is None and not found["settings"]["effective"]:
            raise ReplayerError(
                f"{args.file}: no line of a vLLM, SGLang or llama.cpp server in it; is this the server's own log?"
            )
        if args.json:
            sys.stdout.buffer.write(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
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


def text(found: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{found['kind'] or 'unknown engine'}, {found['samples']} samples"]
    if found["failure"]:
        lines.append(f"it never served; its last error: {found['failure']}")
    lines += [
        _row("decode tok/s", found["decode_tok_s"], 1, ""),
        _row("prefill tok/s", found["prefill_tok_s"], 1, ""),
        _row("acceptance rate", found["acceptance_rate"], 100, " %"),
        _row("acceptance length", found["acceptance_length"], 1, ""),
    ]
    hit = found["prefix_hit_rate"]
    if hit["last"] is not None:
        lines.append(f"{'prefix hit rate':<18} {hit['first']:.1%} first, {hit['last']:.1%} last")
    if found["kv_pool_tokens"]:
        swa = found["settings"]["swa_pool_tokens"]
        lines.append(
            f"{'KV pool':<18} {found['kv_pool_tokens']:,} tokens" + (f", SWA {swa:,}" if swa else "")
        )
    return "\n".join(lines + _bands(found) + _settings(found["settings"]))


def _row(name: str, spread: dict[str, Any], factor: float, unit: str) -> str:
    if not spread["n"]:
        return f"{name:<18} not in this log"
    low, middle, high = (spread[key] * factor for key in ("min", "p50", "max"))
    return f"{name:<18} {middle:.4g}{unit} (from {low:.4g} to {high:.4g}, n={spread['n']})"


def _bands(found: dict[str, Any]) -> list[str]:
    if len(found["bands"]) < 2:
        return [
            "speed bands        none: one band" if found["bands"] else "speed bands        no decoding seen"
        ]
    lines = [f"speed bands        {len(found['bands'])}" + (" (few windows)" if found["few_windows"] else "")]
    for band in found["bands"]:
        acceptance = "" if band["acceptance"] is None else f", acceptance {band['acceptance']:.1%}"
        lines.append(
            f"  {band['low']:.1f} to {band['high']:.1f} tok/s, {band['share']:.0%} of windows{acceptance}"
        )
    for what in ("acceptance", "load"):
        share = found[f"explained_by_{what}"]
        if share is not None:
            lines.append(f"  {what} explains {share:.0%} of the variance of speed")
    return lines


def _settings(settings: dict[str, Any]) -> list[str]:
    lines = [f"asked              {key} = {value}" for key, value in settings["asked"].items()]
    lines += [
        f"effective          {key} = {value}"
        for key, value in settings["effective"].items()
        if value is not None
    ]
    return lines + [f"the server says    {note}" for note in settings["notes"]]
