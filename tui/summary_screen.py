"""What the run shows, in the report's words: the headline, the lanes ranked with their effect, and the answers."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures, Rate
from replayer.metrics.run_documents import Standing, Story
from replayer.metrics.shown import number, percent, rate, signed
from replayer.tui.keys import Keys
from replayer.tui.main_screen import header
from replayer.tui.pages import MANY, Page
from replayer.tui.quiet import Quiet
from replayer.tui.source import Frame
from replayer.tui.text import Span, content, fit, safe, wrapped

_QUIET = "$foreground-muted"
_MOST_NAME = 24
"""Cells of a lane's name in the ranking."""
_LEAST_BAR, _MOST_BAR = 8, 40
"""Cells of the drawn interval; where there is less room it is not drawn."""

Spans = list[Span | str]


class SummaryScreen(Page):
    """Read from top to bottom; longer than the screen, it scrolls."""

    DEFAULT_CSS = """
    SummaryScreen > #run { height: 1; background: $panel; color: $text; padding: 0 1; }
    SummaryScreen > VerticalScroll { padding: 1 2; scrollbar-size-vertical: 1; }
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
        self._run.update(header(frame.view, self.size.width - 2, behind=frame.behind))
        width = self._area.content_size.width
        if not width:
            return False
        running = any(view.state == "running" for view in frame.views)
        lanes = list(frame.figures.values()) if len(frame.figures) > MANY else []
        self._words.paint(content(*summary(frame.compared.story, width, lanes, running=running)))
        return True


def summary(story: Story, width: int, lanes: Sequence[LaneFigures] = (), *, running: bool = False) -> Spans:
    """`lanes`: those of the overview. `running`: what is said may still change."""
    so_far = "So far: " if running else ""
    spans: Spans = [(f"{wrapped(so_far + story.headline, width)}\n", "bold $primary")]
    spans += _ranking(story.standings, width) if len(story.standings) > 1 else []
    spans += overview(lanes, width)
    answers = [
        one for one in story.below() if not (running and one.key == "next")
    ]  # it may need nothing but time
    asked = max((cell_len(one.question) for one in answers), default=0)
    for answer in answers:
        spans.append("\n")
        if width > 3 * asked:
            spans += [(f"{answer.question:<{asked}}  ", _QUIET)]
            spans.append(f"{wrapped(answer.words, width, ' ' * (asked + 2))}\n")
        else:
            spans += [(f"{answer.question}\n", _QUIET), f"  {wrapped(answer.words, width, '  ')}\n"]
    return spans


def overview(lanes: Sequence[LaneFigures], width: int) -> Spans:
    """A line for each of many lanes, whose columns do not fit beside each other."""
    heads = ("sessions", "turns", "usable", "collapsed", "TTFT p50 ms", "decode tok/s", "reused")
    lines = [_cells(lane) for lane in lanes]
    sizes = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    name = max((cell_len(safe(lane.lane)) for lane in lanes), default=0)
    name = max(8, min(name, _MOST_NAME, width - sum(sizes) - 2 * len(sizes)))
    spans: Spans = ["\n", (_line("", heads, sizes, name, width), _QUIET)] if lanes else []
    return spans + [
        _line(lane.lane, cells, sizes, name, width) for lane, cells in zip(lanes, lines, strict=True)
    ]


def _line(lane: str, cells: Sequence[str], sizes: Sequence[int], name: int, width: int) -> str:
    parts = [f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True)]
    return fit("  ".join([fit(lane, name), *parts]), width).rstrip() + "\n"


def _cells(lane: LaneFigures) -> tuple[str, ...]:
    return (
        f"{lane.sessions}/{lane.sessions + lane.missing_sessions}",
        f"{lane.turns}",
        percent(lane.usable_turn_rate.value),
        f"{lane.repetition.collapsed_turns}",
        number(lane.ttft_ms.p50),
        number(lane.decode_tok_s.value),
        percent(lane.prefix_cache.reported),
    )


def _ranking(standings: list[Standing], width: int) -> Spans:
    """A line for each lane, best first: usable turns with their interval as a picture, and the effect."""
    name = min(_MOST_NAME, max(cell_len(safe(one.lane)) for one in standings))
    rates = [rate(Rate(one.value, one.low, one.high, one.n)) for one in standings]
    effects = [_effect(one) for one in standings]
    longest = max(map(len, rates))
    room = width - name - 10 - longest - max(len(words) for words, _ in effects)
    bar = min(room, _MOST_BAR) if room >= _LEAST_BAR else 0
    head = f"{'':{name + 5}}usable turns [95 % interval]"
    spans: Spans = ["\n", (f"{fit(head, width).rstrip()}\n", _QUIET)]
    low = min((one.low for one in standings if one.value is not None), default=0.0)
    for one, words, (effect, style) in zip(standings, rates, effects, strict=True):
        spans += [(f"{one.rank:>2}.  ", "bold" if one.rank == 1 else ""), fit(one.lane, name), " "]
        spans += [(f"{_drawn(one, bar, low)} ", "$accent")] if bar else []
        indent = " " * (name + 5)
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
