"""Runs the repetition detector over text as if an engine had streamed it: the onset, the alarm, what repeats.

FILE is any text or log, or `-` for standard input. Of a native trace (`replayer import` makes them) every reply is
judged: its text, its thinking and the arguments of its calls, each by itself. Of a .jsonl file each line's "text"
(or "output") is judged by itself, its "name" is kept, and a "finish_reason" of "length" is taken as evidence.
`suspect` is what sound files also do now and then; only `collapsed` would have stopped a stream. Offsets are
characters.

Examples:
  replayer repetition reply.txt
  tail -n 200 engine.log | replayer repetition -
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from replayer.commands.flags import flag
from replayer.errors import ReplayerError
from replayer.signals.repetition.detector import scan
from replayer.signals.repetition.finding import Finding
from replayer.text import print_json, safe, unscreened
from replayer.traces.library import find, shipped
from replayer.traces.reader import Trace, is_native
from replayer.traces.schema import ToolCallItem
from replayer.wire.types import JsonObject

Channel = Literal["text", "reasoning", "code"]
BEFORE = 60
COPIES = 3
SHOWN_UNIT = 160
UNITS = ("7", "1")
"""Terminal styles of two neighbouring copies: reversed, bold."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="text, .jsonl, or - (default)")
    flag(
        parser,
        "--channel",
        "what the text is: an answer, thinking, or tool arguments (default: text)",
        choices=("text", "reasoning", "code"),
        default="text",
    )
    flag(parser, "--json", "one JSON line per text")


def run(args: argparse.Namespace) -> int:
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for item in _texts(args.file):
        finding = scan(item.text, item.channel or args.channel, item.finish_reason)
        if args.json:
            print_json(_record(item.name, finding))
        else:
            print("\n".join(_picture(item, finding, colour)), file=unscreened(sys.stdout))
    return 0


class Item(NamedTuple):
    name: str | None
    text: str
    finish_reason: str | None = None
    channel: Channel | None = None
    """What the text is, where its source says so."""


_CHANNELS: dict[str, Channel] = {"assistant": "text", "reasoning": "reasoning", "tool_call": "code"}


def _texts(file: str) -> Iterator[Item]:
    if file in shipped() or is_native(Path(file)):
        yield from _replies(find(file))
        return
    if file == "-":
        yield Item(None, sys.stdin.buffer.read().decode("utf-8", "replace"))
        return
    try:
        text = Path(file).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ReplayerError(f"{file}: {error.strerror or error}") from None
    if file.endswith(".jsonl"):
        yield from _lines(file, text)
    else:
        yield Item(None, text)


def _replies(path: Path) -> Iterator[Item]:
    """Everything that the model wrote in a trace, by turn."""
    with Trace.open(path) as trace:
        for turn in trace.turns:
            for item in map(trace.item, turn.produced):
                if (channel := _CHANNELS.get(item.kind)) is not None:
                    text = item.arguments if isinstance(item, ToolCallItem) else getattr(item, "text", "")
                    yield Item(f"turn {turn.id} {turn.thread} {item.kind}", text, turn.finish_reason, channel)


def _lines(file: str, text: str) -> Iterator[Item]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReplayerError(
                f"{file}, line {number}, is not JSON ({error}); name the file .txt to judge it whole"
            ) from None
        body = (
            next((row[key] for key in ("text", "output") if isinstance(row.get(key), str)), None)
            if isinstance(row, dict)
            else None
        )
        if body is None:
            raise ReplayerError(f'{file}, line {number}, has neither "text" nor "output" to judge')
        name = row.get("name")
        reason = row.get("finish_reason")
        yield Item(str(name) if name is not None else None, body, reason if isinstance(reason, str) else None)


def _record(name: str | None, finding: Finding | None) -> JsonObject:
    record: JsonObject = {} if name is None else {"name": name}
    record["collapsed"] = finding is not None and finding.level == "collapsed"
    for key in ("level", "kind", "onset", "detected_at", "period", "unit", "wasted_chars", "confidence"):
        record[key] = getattr(finding, key) if finding else None
    return record


def _picture(item: Item, finding: Finding | None, colour: bool) -> Iterator[str]:
    title = _plain(item.name) + ": " if item.name else ""
    if finding is None:
        yield f"{title}no repetition in {len(item.text):,} characters"
        return
    period = f" of {finding.period:,} characters" if finding.period else ""
    yield (
        f"{title}{finding.level}: {finding.kind}{period} from character {finding.onset:,},"
        f" seen at {finding.detected_at:,} ({finding.wasted_chars:,} wasted until then, {len(item.text):,} in all)"
    )
    yield "  " + _excerpt(item.text, finding, colour)


def _excerpt(text: str, finding: Finding, colour: bool) -> str:
    """What came before, then copies of the unit, each set off from the next."""
    if not finding.period:
        start = max(0, finding.onset - BEFORE)
        loop = _paint(_plain(text[finding.onset : finding.onset + 2 * SHOWN_UNIT]), UNITS[0], colour)
        return f"{_plain(text[start : finding.onset])}{loop} …"
    first = max(0, finding.onset - finding.period)
    aligned = text.find(finding.unit, first, first + 2 * finding.period + len(finding.unit))
    first = max(first, aligned)
    shown = _plain(text[max(0, first - BEFORE) : first])
    for copy in range(COPIES):
        at = first + copy * finding.period
        unit = text[at : at + finding.period]
        cut = _plain(unit[:SHOWN_UNIT]) + (" … " if len(unit) > SHOWN_UNIT else "")
        shown += _paint(cut, UNITS[copy % 2], colour) if colour else f"[{cut}]"
    return f"{shown} …"


def _plain(text: str) -> str:
    """One line that a terminal shows as it stands: model output is hostile."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in safe(text))


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text
