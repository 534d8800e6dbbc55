"""What the run shows, in the report's words: the headline, the lanes ranked with their effect, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures, Rate
from replayer.metrics.run_documents import Standing, Story
from replayer.metrics.shown import number, percent, rate, signed
from replayer.text import shortened
from replayer.tui.keys import Keys
from replayer.tui.main_screen import header
from replayer.tui.pages import MANY, Page
from replayer.tui.source import Frame
from replayer.tui.text import Quiet, Span, content, fit, safe, wrapped

_QUIET = "$foreground-muted"
_MOST_NAME = 24
"""Cells of a lane's name in the ranking."""
_LEAST_BAR, _MOST_BAR = 8, 40
"""Cells of the drawn interval; where there is less room it is not drawn."""

Spans = list[Span | str]
Form = Literal["wide", "close", "answers first"]
FORMS: tuple[Form, ...] = ("wide", "close", "answers first")
"""From the airiest to the one whose answers are the first to be seen: the first that fits the screen is taken."""


class SummaryScreen(Page):
    """Read from top to bottom; longer than the screen, it scrolls."""

    DEFAULT_CSS = """
    SummaryScreen > #run { height: 1; background: $panel; color: $text; padding: 0 1; }
    SummaryScreen > VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    SummaryScreen Quiet { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._run = Static(id="run", markup=False)
        self._words = Quiet()
        self._area = VerticalScroll(self._words, can_focus=True)

    def compose(self) -> ComposeResult:
        yield self._run
        yield self._area
        yield Keys()

    def show(self, frame: Frame) -> bool:
        self._run.update(header(frame, self.size.width - 2))
        width, height = self._area.scrollable_content_region.size
        if not width:
            return False
        running = any(view.state == "running" for view in frame.views)
        many = len(frame.figures) > MANY or is_load(frame.compared.story)
        lanes = list(frame.figures.values()) if many else []
        for form in FORMS:
            words = content(*summary(frame.compared.story, width, lanes, running=running, form=form)).rstrip()
            if words.plain.count("\n") < height:
                break
        self._words.paint(words)
        return True


def summary(
    story: Story, width: int, lanes: Sequence[LaneFigures] = (), *, running: bool = False, form: Form = "wide"
) -> Spans:
    """`lanes`: those of the overview. `running`: what is said may still change."""
    so_far = "So far: " if running else ""
    tables = _ranking(story.standings, width) if len(story.standings) > 1 else []
    tables += ["\n"] if tables and lanes else []
    tables += overview(lanes, width, load=is_load(story))
    answers = _answers(story, width, "\n" if form == "wide" else "", running=running)
    parts = [answers, tables] if form == "answers first" else [tables, answers]
    spans: Spans = [(f"{wrapped(so_far + story.headline, width)}\n", "bold $primary")]
    for part in parts:
        spans += ["" if part is answers and form == "wide" else "\n", *part] if part else []
    return spans


def is_load(story: Story) -> bool:
    """Whether lanes differ in load: then there are curves, not a ranking."""
    return any(answer.key == "load" for answer in story.answers)


def _answers(story: Story, width: int, gap: str, *, running: bool) -> Spans:
    """Each question with its answer; what to try next is left out of a run that may need nothing but time."""
    answers = [one for one in story.below() if not (running and one.key == "next")]
    asked = max((cell_len(one.question) for one in answers), default=0)
    spans: Spans = []
    for answer in answers:
        spans.append(gap)
        if width > 3 * asked:
            spans += [(f"{answer.question:<{asked}}  ", _QUIET)]
            spans.append(f"{wrapped(answer.words, width, ' ' * (asked + 2))}\n")
        else:
            spans += [(f"{answer.question}\n", _QUIET), f"  {wrapped(answer.words, width, '  ')}\n"]
    return spans


def overview(lanes: Sequence[LaneFigures], width: int, *, load: bool = False) -> Spans:
    """A line for each of many lanes, whose columns do not fit beside each other; under `load` with their throughput drawn."""
    heads, *lines = zip(
        *((head, *map(cell, lanes)) for head, cell in (_LOAD if load else _CELLS)), strict=True
    )
    sizes = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    used = sum(sizes) + 2 * len(sizes)
    longest = max((cell_len(safe(lane.lane)) for lane in lanes), default=0)
    name = max(8, min(longest, _MOST_NAME, width - used))
    room = width - name - used - 2
    bar = min(room, _MOST_BAR) if load and room >= _LEAST_BAR else 0
    most = max((lane.load.output_tok_s or 0.0 for lane in lanes), default=0.0)
    spans: Spans = [(_line("", heads, sizes, name, width), _QUIET), "\n"] if lanes else []
    for lane, cells in zip(lanes, lines, strict=True):
        spans.append(_line(lane.lane, cells, sizes, name, width))
        share = (lane.load.output_tok_s or 0.0) / most if bar and most else 0.0
        spans += [(f"  {'━' * round(bar * share)}", "$accent"), "\n"]
    return spans


_Columns = tuple[tuple[str, Callable[[LaneFigures], str]], ...]
_CELLS: _Columns = (
    ("sessions", lambda lane: f"{lane.sessions}/{lane.sessions + lane.missing_sessions}"),
    ("turns", lambda lane: f"{lane.turns}"),
    ("usable", lambda lane: percent(lane.usable_turn_rate.value)),
    ("collapsed", lambda lane: f"{lane.repetition.collapsed_turns}"),
    ("TTFT p50 ms", lambda lane: number(lane.ttft_ms.p50)),
    ("decode tok/s", lambda lane: number(lane.decode_tok_s.value)),
    ("reused", lambda lane: percent(lane.prefix_cache.reported)),
)
_LOAD: _Columns = (
    ("at once", lambda lane: f"{lane.load.concurrency}"),
    ("turns", lambda lane: f"{lane.turns}"),
    ("usable", lambda lane: percent(lane.usable_turn_rate.value)),
    ("TTFT p95 ms", lambda lane: number(lane.load.ttft_ms.p95)),
    ("TPOT p50 ms", lambda lane: number(lane.load.tpot_ms.p50)),
    ("output tok/s", lambda lane: number(lane.load.output_tok_s)),
)


def _line(lane: str, cells: Sequence[str], sizes: Sequence[int], name: int, width: int) -> str:
    parts = [f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True)]
    return fit("  ".join([fit(shortened(lane, name), name), *parts]), width).rstrip()


def _ranking(standings: list[Standing], width: int) -> Spans:
    """A line for each lane, best first: usable turns with their interval as a picture, and the effect."""
    name = min(_MOST_NAME, max(cell_len(safe(one.lane)) for one in standings))
    rates = [rate(Rate(one.value, one.low, one.high, one.n)) for one in standings]
    effects = [_effect(one) for one in standings]
    longest = max(map(len, rates))
    room = width - name - 10 - longest - max(len(words) for words, _ in effects)
    bar = min(room, _MOST_BAR) if room >= _LEAST_BAR else 0
    indent = " " * (name + 6)
    head = f"{indent}usable turns [95 % interval]"
    spans: Spans = [(f"{fit(head, width).rstrip()}\n", _QUIET)]
    low = min((one.low for one in standings if one.value is not None), default=0.0)
    for one, words, (effect, style) in zip(standings, rates, effects, strict=True):
        spans += [
            (f"{one.rank:>2}.  ", "bold" if one.rank == 1 else ""),
            fit(shortened(one.lane, name), name),
            " ",
        ]
        spans += [(f"{_drawn(one, bar, low)} ", "$accent")] if bar else []
        if len(indent) + (bar + 1 if bar else 0) + longest + 2 + cell_len(effect) <= width:
            spans += [f"{words:<{longest}}  ", (effect, style)]
        else:
            below = wrapped(f"{indent}{effect}", width, indent)
            spans += [words, (f"\n{below}" if effect else "", style)]
        spans.append("\n")
    return spans


def _drawn(one: Standing, width: int, low: float) -> str:
    """The interval as a line with the value on it; all lanes share the scale, which ends at 100 %."""
    if one.value is None:
        return " " * width

    def place(share: float) -> int:
        return round((width - 1) * (share - low) / (1 - low)) if low < 1 else width - 1

    line = [" "] * width
    line[place(one.low) : place(one.high) + 1] = "─" * (place(one.high) - place(one.low) + 1)
    line[place(one.value)] = "●"
    return "".join(line)


def _effect(one: Standing) -> Span:
    """Against the first lane: the difference and its interval in the metric's unit."""
    if one.metric is None or one.difference is None:
        return "", ""
    metric = METRICS[one.metric]
    reach = (
        ""
        if one.difference_low is None or one.difference_high is None
        else f" [{signed(metric, one.difference_low)} to {signed(metric, one.difference_high)}]"
    )
    decided = "" if one.decided else ", not decided"
    words = f"{signed(metric, one.difference)} {metric.unit}{reach} in {metric.words}{decided}"
    return words, "bold $warning" if one.decided else _QUIET
