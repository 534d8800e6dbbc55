"""A trace as people read it. What a model or a tool wrote is never markup and never reaches the terminal raw."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.text import Text

from replayer.text import console, safe, shared_start
from replayer.traces.importers.values import as_str, compact
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    Content,
    OpaqueItem,
    ToolCallItem,
    ToolResultItem,
    Turn,
)

_FOLDED_LINES = 12
_FOLDED_CHARS = 4000
_WIDEST = 120
_LABEL = 11
_LOOKS = {
    "system": ("system", "dim"),
    "user": ("user", "bold cyan"),
    "assistant": ("assistant", ""),
    "reasoning": ("thinking", "italic dim"),
    "tool_call": ("call", "yellow"),
    "tool_result": ("result", "green"),
    "compaction": ("compacted", "magenta"),
}
_ORDINARY_ENDS = (None, "stop", "tool_calls", "end_turn", "tool_use", "error")


def show(trace: Trace, *, brief: bool, full: bool, thread: str | None = None) -> None:
    """Prints a trace to stdout, in colour on a terminal."""
    screen = console(highlight=False)
    names = list(dict.fromkeys(turn.thread for turn in trace.turns))
    page = _Page(trace, min(screen.width, _WIDEST), full)
    shown = [turn for turn in trace.turns if thread in (None, turn.thread)]
    for line in page.title(names):
        screen.print(line, no_wrap=True)
    for turn in shown:
        for line in [page.brief(turn)] if brief else page.turn(turn):
            screen.print(line, no_wrap=True, overflow="ignore", crop=False)
    for line in page.passed(brief) if not names else ():
        screen.print(line, no_wrap=True, overflow="ignore", crop=False)


class _Page:
    """Lines of at most `width` cells."""

    def __init__(self, trace: Trace, width: int, full: bool) -> None:
        self._trace, self._width, self._full = trace, width, full
        self._seen: set[int] = set()
        self._before: dict[str, tuple[int, ...]] = {}
        self._names: dict[str, str] = {}
        self._failures = dict(_failures(trace))

    def title(self, threads: list[str]) -> Iterator[Text]:
        header = self._trace.header
        yield self._cut(Text(safe(header.title or header.trace_id).replace("\n", " "), style="bold"))
        count = len(self._trace.turns)
        where = f" in {len(threads)} threads" if len(threads) > 1 else ""
        facts = (
            f"{safe(header.source.format)} · {_many(count, 'turn')}{where} · {self._trace.item_count:,} items"
        )
        yield self._cut(Text(facts, style="dim"))

    def brief(self, turn: Turn) -> Text:
        """Number, thread, size of the context, time and what the turn produced."""
        produced = [self._trace.item(number) for number in turn.produced]
        line = Text(
            f"{turn.id:>4}  {safe(turn.thread)[:12]:<12} {self._size(turn):>14} {_seconds(turn):>8}  "
        )
        calls = [safe(item.name) for item in produced if isinstance(item, ToolCallItem)]
        counted = ((name, len(list(same))) for name, same in groupby(calls))
        words = (name if count == 1 else f"{name} ×{count}" for name, count in counted)
        line.append(", ".join(words), style="yellow")
        said = next((safe(item.text) for item in produced if isinstance(item, AssistantItem)), "")
        line.append(("  " if calls and said else "") + " ".join(said[: self._width].split()))
        if trouble := self._trouble(turn):
            line.append(f"  {trouble}", style="red")
        return self._cut(line)

    def turn(self, turn: Turn) -> Iterator[Text]:
        model = f" · {safe(turn.model)}" if turn.model else ""
        facts = " · ".join(fact for fact in (self._size(turn), _answered(turn), _seconds(turn)) if fact)
        left = Text(f"── turn {turn.id} · {safe(turn.thread)}{model} ")
        left.truncate(self._width - len(facts) - 4, overflow="ellipsis")
        yield Text(
            f"{left.plain}{'─' * (self._width - left.cell_len - len(facts) - 4)} {facts} ──", style="dim"
        )
        context = self._trace.context(turn.id)
        if gone := self._left_out(turn, context):
            yield Text(f"{_many(gone, 'item')} of the context before are not sent any more", style="magenta")
        for number in (*context, *turn.produced):
            if number not in self._seen:
                self._seen.add(number)
                yield from self._item(self._trace.item(number))
        if trouble := self._trouble(turn):
            yield from self._block("failed", safe(trouble), "red")

    def passed(self, brief: bool) -> Iterator[Text]:
        """Requests that the recorder kept as they passed."""
        for item in self._trace.items():
            record = item.record if isinstance(item, OpaqueItem) and isinstance(item.record, dict) else {}
            seconds = record.get("seconds")
            if "path" not in record or not isinstance(seconds, float):
                continue
            response = str(record.get("response", ""))
            facts = f"status {record.get('status')} · {len(response):,} characters · {seconds:,.1f} s"
            broken = f" · {record['broken']}" if "broken" in record else ""
            yield self._cut(
                Text(safe(f"── {record['path']} · {facts}{broken}"), style="red" if broken else "dim")
            )
            if not brief:
                yield from self._block("request", compact(record.get("request")), _LOOKS["user"][1])
                yield from self._block("answer", response, "")

    def _item(self, item: AnyItem) -> Iterator[Text]:
        if isinstance(item, OpaqueItem):
            return
        label, style = _LOOKS[item.kind]
        if isinstance(item, ToolCallItem):
            self._names[item.call_id] = item.name
            yield from self._block(label, _call(item), style)
        elif isinstance(item, ToolResultItem):
            name = item.name or self._names.get(item.call_id, item.call_id)
            failed = " failed" if item.is_error else ""
            text = f"of {name}{failed}\n{_text(item.content)}"
            yield from self._block(label, text, "red" if item.is_error else style)
        else:
            text = _text(item.content) if item.kind == "user" else item.text
            yield from self._block(label, text, style)

    def _block(self, label: str, text: str, style: str) -> Iterator[Text]:
        """Text beside its label, wrapped and, where it is long, folded."""
        text = safe(text.replace("\r\n", "\n")).expandtabs(4).rstrip("\n")
        kept, rest = _folded(text.split("\n"), self._width - _LABEL, self._full)
        for number, line in enumerate(kept):
            yield Text(f"{label if not number else '':<{_LABEL}}{line}".rstrip(), style=style)
        if rest:
            yield Text(" " * _LABEL + rest, style="dim")

    def _left_out(self, turn: Turn, context: tuple[int, ...]) -> int:
        """Items of the thread's context before that this turn was not sent, thinking aside."""
        before = self._before.get(turn.thread, ())
        self._before[turn.thread] = (*context, *turn.produced)
        same = shared_start(before, context)
        gone = set(before[same:]) - set(context)
        return sum(self._trace.item(number).kind not in ("reasoning", "opaque") for number in gone)

    def _size(self, turn: Turn) -> str:
        tokens = turn.usage.prompt_tokens if turn.usage else turn.tokens.input_tokens if turn.tokens else None
        return f"{tokens:,} tok" if tokens is not None else _many(len(self._trace.context(turn.id)), "item")

    def _trouble(self, turn: Turn) -> str:
        if turn.finish_reason not in _ORDINARY_ENDS:
            return f"ended by {safe(str(turn.finish_reason))}"
        if turn.finish_reason != "error":
            return ""
        return " ".join(safe(self._failures.get(turn.id, "no answer")).split())

    def _cut(self, line: Text) -> Text:
        line.truncate(self._width, overflow="ellipsis")
        return line


def _failures(trace: Trace) -> Iterator[tuple[int, str]]:
    """What the recorder wrote down of requests that failed."""
    if trace.header.source.format != "record":
        return
    for item in trace.items():
        record = item.record if isinstance(item, OpaqueItem) and isinstance(item.record, dict) else {}
        failure = record.get("failure")
        if isinstance(failure, dict) and isinstance(record.get("turn"), int):
            yield record["turn"], f"{failure.get('kind')}: {failure.get('message')}"


def _call(call: ToolCallItem) -> str:
    """Name, then each argument on a line of its own."""
    if not isinstance(call.parsed, dict):
        return f"{call.name} {call.arguments}"
    values = ((key, v if isinstance(v, str) else compact(v)) for key, v in call.parsed.items())
    return "\n".join((call.name, *(f"{key}: {value}" for key, value in values)))


def _text(content: Content) -> str:
    parts = () if isinstance(content, str) else content
    texts = (as_str(part.get("text"), f"<{part.get('type')}>") for part in parts)
    return content if isinstance(content, str) else "\n".join(texts)


def _wrapped(row: str, width: int) -> Iterator[str]:
    """Rows of at most `width` cells, cut at blanks where there are any."""
    if row.isascii() and len(row) <= width:
        yield row
        return
    console = Console(width=width, file=None, highlight=False)
    for line in Text(row).wrap(console, width):
        yield line.plain.rstrip()


def _folded(rows: list[str], width: int, full: bool) -> tuple[list[str], str]:
    """The lines to show, and what is said of those that are not."""
    kept: list[str] = []
    for number, row in enumerate(rows):
        for line in _wrapped(row if full else row[:_FOLDED_CHARS], width):
            if len(kept) == _FOLDED_LINES and not full:
                left = len(rows) - number
                characters = sum(map(len, rows)) - sum(map(len, kept))
                return kept, f"… {left:,} more lines" if left > 1 else f"… {characters:,} more characters"
            kept.append(line)
    return kept, ""


def _answered(turn: Turn) -> str:
    usage = turn.usage
    if usage is None or usage.completion_tokens is None:
        return ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.completion_tokens:,} out{cached}"


def _seconds(turn: Turn) -> str:
    times = turn.times
    if times is None or times.started is None or times.ended is None:
        return ""
    return f"{times.ended - times.started:,.1f} s"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
