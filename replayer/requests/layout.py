"""Where the messages of each turn lie among the stored bytes, worked out from the turn before wherever that holds.

A thread of 500 turns would else be gone through 500 times. What stays as it was is known by the ids of the items; the
last message is always worked out anew, because what follows may join it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from replayer.lazy import Newest, dataclass
from replayer.requests.byte_store import Span
from replayer.traces.grouping import Outputs, from_model
from replayer.traces.reader import Trace
from replayer.traces.requests import sent_over
from replayer.traces.schema import (
    AnyItem,
    CompactionItem,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    Turn,
    UserItem,
)
from replayer.traces.sent_messages import Sent, SentMessages
from replayer.wire.types import Wire

if TYPE_CHECKING:
    from replayer.requests.dialects import Dialect

Spans = dict[str, list[Span | None]]
"""By field of the body, neighbours joined into one; None is the place of the marker."""

_KEPT = 8
PROFILE_ITEM = -1


class Key(NamedTuple):
    """One message: the ids of its items and, where recorded, its form; `style` is the spacing of its JSON. `ends`: it
    is the last of its request, which some clients write otherwise."""

    ids: tuple[int, ...]
    form: str = ""
    style: str = "compact"
    ends: bool = False


class Piece(NamedTuple):
    """The stored bytes of a message behind a comma, the place of a marker in it, and the field that it fills."""

    span: Span
    mark: int | None
    field: str


@dataclass(slots=True)
class _Settled:
    """The messages of a turn that stay as they are whatever follows. `sent` or `items` says what they were made of."""

    style: str
    sent: list[Sent] | None = None
    items: tuple[int, ...] = ()
    tail: tuple[AnyItem, ...] = ()
    """The items behind them."""
    spans: Spans = field(default_factory=dict)
    marked: bool = False

    def copy(self) -> tuple[Spans, bool]:
        return {name: list(spans) for name, spans in self.spans.items()}, self.marked


class Layouts:
    """The spans of one thread's turns."""

    def __init__(
        self,
        trace: Trace,
        dialect: Dialect,
        wire: Wire,
        outputs: Outputs,
        piece: Callable[[Key], Piece | None],
        *,
        with_profile: bool,
    ) -> None:
        self._trace, self._dialect, self._wire = trace, dialect, wire
        self._outputs, self._piece, self._with_profile = outputs, piece, with_profile
        self._sent = SentMessages(trace)
        self._known: Newest[int, _Settled] = Newest(_KEPT)
        """By the length of what they were made of: the contexts of neighbours grow."""

    def of(self, turn: Turn) -> Spans:
        style = turn.body.style if turn.body is not None else "compact"
        as_sent = self._dialect.exact and sent_over(turn) == self._wire
        sent = self._sent.of(turn.id) if as_sent else None
        settled, spans = (
            self._recorded(sent, style)
            if sent is not None
            else self._arranged(self._trace.context(turn.id), style)
        )
        self._known[turn.id] = settled
        self._known.move_to_end(turn.id)
        return spans

    def _recorded(self, sent: list[Sent], style: str) -> tuple[_Settled, Spans]:
        """As the client cut them: every message but the last is settled."""
        before = self._before(lambda one: one.sent is not None and sent[: len(one.sent)] == one.sent, style)
        new = sent[len(before.sent or ()) :]
        spans, marked = before.copy()
        marked = self._add((Key(ids, form, style) for ids, form in new[:-1]), spans, marked)
        settled = _Settled(style, sent=sent[:-1], spans=spans, marked=marked)
        spans, marked = settled.copy()
        self._add((Key(ids, form, style) for ids, form in new[-1:]), spans, marked)
        return settled, spans

    def _arranged(self, context: tuple[int, ...], style: str) -> tuple[_Settled, Spans]:
        before = self._before(lambda one: bool(one.items) and context[: len(one.items)] == one.items, style)
        begun = len(before.items)
        old = {item.id: item for item in before.tail}
        news = [old.get(number) or self._trace.item(number) for number in context[begun:]]
        if begun and not self._leaves(news, before.tail):
            before = self._first(style)
            begun, news = 0, [self._trace.item(number) for number in context]
        groups = [tuple(g) for g in self._dialect.groups(self._dialect.arrange(news), self._outputs)]
        cut = _last_side(groups)
        spans, marked = before.copy()
        marked = self._add((Key(_ids(group), style=style) for group in groups[:cut]), spans, marked)
        behind = _position(news, groups[cut][0]) if cut < len(groups) else len(news)
        settled = _Settled(
            style, items=context[: begun + behind], tail=tuple(news[behind:]), spans=spans, marked=marked
        )
        spans, marked = settled.copy()
        last = len(groups) - 1 if self._dialect.marks_end else None
        ends = (Key(_ids(groups[n]), style=style, ends=n == last) for n in range(cut, len(groups)))
        self._add(ends, spans, marked)
        return settled, spans

    def _before(self, fits: Callable[[_Settled], bool], style: str) -> _Settled:
        """The longest known beginning of this turn."""
        longest_first = sorted(self._known.values(), key=lambda one: -len(one.sent or one.items))
        found = (one for one in longest_first if one.style == style and fits(one))
        return next(found, None) or self._first(style)

    def _first(self, style: str) -> _Settled:
        spans: Spans = {}
        marked = False
        if self._with_profile:
            marked = self._add([Key((PROFILE_ITEM,), style=style)], spans, marked)
        return _Settled(style, spans=spans, marked=marked)

    def _leaves(self, news: Sequence[AnyItem], tail: Sequence[AnyItem]) -> bool:
        """Whether what follows the settled messages changes nothing in them, in any dialect: what begins a request may
        have a place of its own, a call without its result may be left out, reasoning before a question may go."""
        sent = self._dialect.arrange(news)
        if (
            not (tail and sent)
            or from_model(sent[0]) != from_model(tail[0])
            or isinstance(sent[0], SystemItem)
        ):
            return False
        return self._looks_back(news) == self._looks_back(tail)

    def _looks_back(self, items: Sequence[AnyItem]) -> set[tuple[str, str | int]]:
        calls = {item.call_id for item in items if isinstance(item, ToolCallItem)}
        found: set[tuple[str, str | int]] = {
            ("result", item.call_id)
            for item in items
            if isinstance(item, ToolResultItem) and item.call_id not in calls
        }
        if self._dialect.drops_thinking:
            found |= {("asks", item.id) for item in items if isinstance(item, UserItem | CompactionItem)}
        return found

    def _add(self, keys: Iterable[Key], spans: Spans, marked: bool) -> bool:
        """Append messages; returns whether the marker has its place."""
        for key in keys:
            piece = self._piece(key)
            if piece is None:
                continue
            whole, mark, name = piece
            comma = 0 if name in spans else (2 if key.style.startswith("spaced") else 1)
            into = spans.setdefault(name, [])
            begin = whole.begin + comma
            if mark is not None and not marked:
                marked = True
                join(into, whole._replace(begin=begin, end=mark))
                into.append(None)
                begin = mark
            join(into, whole._replace(begin=begin))
        return marked


def join(spans: list[Span | None], span: Span) -> None:
    """Appends a span, as part of the last one where it follows that in the spool."""
    last = spans[-1] if spans else None
    if last is not None and (last.segment, last.end) == (span.segment, span.begin):
        spans[-1] = last._replace(end=span.end)
    else:
        spans.append(span)


def _ids(group: Sequence[AnyItem]) -> tuple[int, ...]:
    return tuple(item.id for item in group)


def _position(items: Sequence[AnyItem], item: AnyItem) -> int:
    return next(number for number, one in enumerate(items) if one is item)


def _last_side(groups: Sequence[Sequence[AnyItem]]) -> int:
    """Where the last run of messages of one side (the model's, or what it was given) begins."""
    cut = len(groups) - 1
    while cut > 0 and from_model(groups[cut - 1][0]) == from_model(groups[-1][0]):
        cut -= 1
    return max(cut, 0)


def with_mark(item: AnyItem, mark: str) -> AnyItem | None:
    """What a client said, with a mark behind its last text: a summary too, which may be the first message of all."""
    if isinstance(item, CompactionItem):
        return replace(item, text=item.text + mark)
    if not isinstance(item, UserItem):
        return None
    if isinstance(item.content, str):
        return replace(item, content=item.content + mark)
    parts = list(item.content)
    for place in reversed(range(len(parts))):
        if parts[place].get("type") == "text" and isinstance(parts[place].get("text"), str):
            parts[place] = {**parts[place], "text": parts[place]["text"] + mark}
            break
    return replace(item, content=tuple(parts))
