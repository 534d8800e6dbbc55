"""The best that a prefix cache could do for the requests of a trace or a JSON-lines file, turn by turn, and
the first place where each request parts from the one it continues. No engine is needed.

A line of a JSON-lines file is a chat request ({"messages": …, "tools": …}), or {"request": …, "response": …};
cached tokens in a response's usage are set beside the ideal.

Prompts are rendered with a stand-in chat template. Tokens come from --tokenizer: a GGUF or tokenizer.json file
(byte-level BPE), a tiktoken encoding, or characters.

Examples:
  replayer prefix requests.jsonl --block-size 16
  replayer prefix fix-failing-test
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import orjson

from replayer.commands.flags import flag
from replayer.commands.many import add_processes_flag, mapped
from replayer.prefix.prefix_report import PrefixReport, Settings, analyse, parts
from replayer.prefix.tokenizers import Tokenizer, load_tokenizer
from replayer.requests.chat_requests import read_requests, transformed
from replayer.requests.transform import load_transform
from replayer.signals.prefix_reuse.causes import PHRASES
from replayer.text import print_json, unscreened
from replayer.traces import library

_BAR = 40
_PARTS = (("reused", "█", "32"), ("recomputed", "▓", "31"), ("new", "░", "90"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="trace, JSON-lines file of requests, or a shipped session; each stands for itself",
    )
    flag(parser, "--block-size N", "tokens per block of the engine's cache", type=_positive)
    flag(parser, "--capacity N", "tokens that the engine's KV pool holds", type=_positive)
    flag(parser, "--speculative", "EAGLE or MTP: one block less is reused")
    flag(parser, "--tokenizer T", "where tokens come from (default: the best at hand)")
    flag(parser, "--dialect D", "which client writes a trace's requests", default="openai-verbatim")
    flag(parser, "--transform M:F", "a context manager that rewrites the messages of each request first")
    add_processes_flag(parser)
    flag(parser, "--json", "one JSON document on stdout; one a line of several files")


def run(args: argparse.Namespace) -> int:
    work = partial(_shown, args=args, colour=sys.stdout.isatty())
    files = [(name, library.find(name)) for name in args.files]
    for text in mapped(work, files, args.processes):
        if args.json:
            print_json(text)
        else:
            print(text, file=unscreened(sys.stdout))
    return 0


def _shown(file: tuple[str, Path], args: argparse.Namespace, *, colour: bool) -> str:
    """Text: a report is larger, and slower to hand from one process to another."""
    name, path = file
    requests = read_requests(path, args.dialect)
    if args.transform:
        requests = transformed(requests, load_transform(args.transform))
    settings = Settings(block_size=args.block_size, capacity=args.capacity, speculative=args.speculative)
    report = analyse(requests, _tokenizer(args.tokenizer), settings)
    if args.json:
        return orjson.dumps(({"file": name} if len(args.files) > 1 else {}) | report.as_dict()).decode()
    return "\n".join(_picture(name, report, colour))


@cache
def _tokenizer(name: str | None) -> Tokenizer:
    return load_tokenizer(name, _warn)


def _picture(name: str, report: PrefixReport, colour: bool) -> Iterator[str]:
    facts = report.as_dict()
    yield f"{name}: {facts['requests']} requests, {facts['prompt_tokens']:,} prompt tokens ({facts['token_source']})"
    sizes = ", ".join(
        f"{rate:.1%} in blocks of {size}" for size, rate in facts["ideal_by_block_size"].items()
    )
    yield f"ideal reuse: {facts['ideal_hit_rate']:.1%} ({sizes})"
    legend = "  ".join(_paint(mark * 2, code, colour) + f" {name}" for name, mark, code in _PARTS)
    yield f"\n turn    prompt    reused  recomp.   share  {legend}"
    widest = max((turn.prompt_tokens for turn in report.turns), default=1)
    entries = {entry["request"]: entry for entry in facts["divergences"]}
    for number, turn in enumerate(report.turns):
        split = parts(turn)
        share = turn.ideal / turn.prompt_tokens if turn.prompt_tokens else 0.0
        bar = _bar(split, widest, colour)
        notes = _notes(entries.get(number))
        yield (
            f"{number + 1:5d} {turn.prompt_tokens:9,} {split['reused']:9,} {split['recomputed']:8,} {share:7.1%}  {bar}{notes}"
        ).rstrip()
    yield from _first_places(facts["divergences"])
    yield f"\n{facts['verdict']}"


def _bar(split: dict[str, int], widest: int, colour: bool) -> str:
    """The prompt drawn to scale; the parts are rounded at their borders, so that they add up."""
    bar, done, drawn = "", 0, 0
    for name, mark, code in _PARTS:
        done += split[name]
        columns = round(_BAR * done / max(1, widest)) - drawn
        drawn += columns
        bar += _paint(mark * columns, code, colour)
    return bar + " " * (_BAR - drawn)


def _notes(entry: dict[str, object] | None) -> str:
    if entry is None:
        return ""
    place = f" at {entry['path']}:{entry['offset']}" if entry["path"] else ""
    return f"  {entry['class']}{place}"


def _first_places(divergences: list[dict[str, object]]) -> Iterator[str]:
    """The first divergence of each class with both excerpts."""
    seen = set()
    for entry in divergences:
        if entry["class"] in seen:
            continue
        seen.add(entry["class"])
        detail = f" ({entry['detail']})" if entry["detail"] else ""
        phrase = next((text for cause, text in PHRASES.items() if cause == entry["class"]), "")
        yield f"\nrequest {int(str(entry['request'])) + 1}: {phrase}{detail}"
        if entry["path"]:
            yield f"  {entry['path']}, offset {entry['offset']}"
        if entry["excerpt_before"] or entry["excerpt_after"]:
            yield f"  before  {_harmless(str(entry['excerpt_before']))}"
            yield f"  after   {_harmless(str(entry['excerpt_after']))}"


def _harmless(text: str) -> str:
    """Model output is hostile: nothing of it may reach the terminal as a control."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return value


def _warn(message: str) -> None:
    print(f"replayer: {message}", file=sys.stderr)
