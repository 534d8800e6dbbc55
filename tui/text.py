"""All text that reaches a widget goes through here: hostile output becomes harmless `Content`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from unicodedata import category

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widgets import Static

from replayer import text as display

BLOCKS = " ▁▂▃▄▅▆▇█"
DASH = "–"

_BEGIN = re.compile(r"[ ]*(?:▎[−+ ] ?|[$│] )?")
_LEFT_OUT = re.compile(r"\n… (\d+) characters left out …\n")
_INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\ufe00-\ufe0f\ufff9-\ufffb"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
"""Joiners, variation selectors, skin tones, tags and other signs that only change the one before them."""
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_TOWER = re.compile(f"({_MARK}{{3}}){_MARK}+")

Span = tuple[str, str]
"""Text and the style it is shown in."""


def safe(text: str) -> str:
    """`display.safe`, and nothing on whose width terminals disagree, since columns must stay aligned: no joiners,
    flags as their letters, three accents on a letter at most, and U+FFFD for what Unicode has not assigned."""
    if text.isascii():
        return display.safe(text)
    text = display.safe(_TOWER.sub(r"\1", _INVISIBLE.sub("", text)))
    text = _FLAG.sub(lambda flag: chr(ord(flag[0]) - 0x1F1E6 + ord("A")), text)
    for unassigned in [char for char in set(text) if category(char) == "Cn"]:
        text = text.replace(unassigned, "\ufffd")
    return text


def content(*spans: Span | str) -> Content:
    """Joined spans; nothing in them is ever read as markup or as an escape sequence."""
    return Content.assemble(
        *((safe(span), "") if isinstance(span, str) else (safe(span[0]), span[1]) for span in spans)
    )


def fit(text: str, width: int) -> str:
    """One line of exactly `width` cells, wide characters counted as two. Of a megabyte only the start is looked at."""
    line = safe(text[: 16 * width + 64]).replace("\n", "⏎").replace("\t", " ")
    if cell_len(line) > width > 1:
        return set_cell_size(line, width - 1) + "…"
    return set_cell_size(line, width)


def plot(
    values: Sequence[float | None], width: int, height: int, top: float | None = None, *, lowest: bool = False
) -> list[str]:
    """Bars over `height` lines in eighths of a cell, the highest value at the top; a gap where one is unknown.
    `top` fixes the scale; `lowest`: see `squeezed`."""
    shown = squeezed(values, width, lowest=lowest)
    highest = top if top is not None else max((value for value in shown if value is not None), default=0.0)
    eighths = [_eighths(value, highest, height) for value in shown]
    return [
        "".join(BLOCKS[max(0, min(8, size - 8 * row))] for size in eighths) for row in reversed(range(height))
    ]


def _eighths(value: float | None, highest: float, height: int) -> int:
    """At least one for what is known, so that zero is not taken for unknown."""
    if value is None:
        return 0
    return max(1, min(8 * height, round(8 * height * value / highest))) if highest > 0 else 1


def squeezed(values: Sequence[float | None], width: int, *, lowest: bool = False) -> list[float | None]:
    """The mean of what is known in each of at most `width` slices; or the `lowest`, which a mean would hide."""
    if len(values) <= width:
        return list(values)
    size = len(values) / width
    slices = (values[int(n * size) : int((n + 1) * size)] for n in range(width))
    known = ([value for value in part if value is not None] for part in slices)
    return [(min(part) if lowest else sum(part) / len(part)) if part else None for part in known]


def tail(text: str, width: int, height: int) -> list[str]:
    """The last `height` screen lines of a text folded at `width` cells. Costs no more than what is shown."""
    lines: list[str] = []
    for line in reversed(safe(text)[-width * height * 2 :].split("\n")):
        lines[:0] = list(_fold(line.replace("\t", "  "), width))
        if len(lines) >= height:
            break
    return lines[-height:]


def _fold(line: str, width: int) -> Iterable[str]:
    """Broken between words where there are any."""
    while len(line) > width or cell_len(line) > width:
        size = min(len(line), width)
        while size > 1 and cell_len(line[:size]) > width:
            size -= 1
        space = line.rfind(" ", size // 2, size + 1)
        yield line[: space if space > 0 else size]
        line = line[space + 1 if space > 0 else size :]
    yield line


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Folded at `width` cells; the lines after the first begin with `indent`."""
    lines = [
        part for line in safe(text).split("\n") for part in _fold(line, max(8, width - cell_len(indent)))
    ]
    return f"\n{indent}".join(lines)


def hanging(spans: Iterable[Span], width: int) -> list[Span]:
    """Folded at `width` cells; what goes on below begins where its line began, behind the sign of a diff too."""
    folded: list[Span] = []
    line: list[Span] = []
    for text, style in spans:
        first, *rest = safe(text).split("\n")
        line.append((first, style))
        for part in rest:
            folded += [*_hung(line, width), ("\n", "")]
            line = [(part, style)]
    return folded + _hung(line, width)


def _hung(line: list[Span], width: int) -> list[Span]:
    whole = "".join(text for text, _ in line)
    if cell_len(whole) <= width:
        return line
    begin = _BEGIN.match(whole)
    indent = begin[0] if begin and cell_len(begin[0]) < width // 2 else ""
    indent_below = re.sub("[−+$]", " ", indent)
    hung: list[Span] = []
    styles = [style for text, style in line for _ in text]
    at = 0
    for number, part in enumerate(_fold(whole[len(indent) :], max(8, width - cell_len(indent)))):
        at = whole.index(part, at if number else len(indent))
        hung.append((f"\n{indent_below}" if number else whole[: len(indent)], styles[0] if indent else ""))
        for style, group in groupby(range(at, at + len(part)), key=styles.__getitem__):
            places = list(group)
            hung.append((whole[places[0] : places[-1] + 1], style))
        at += len(part)
    return hung


def size_words(output: str) -> str:
    """`340 B` or `2.1 kB`, and the lines where there are several; the journal may have left out the middle."""
    cut = _LEFT_OUT.search(output)
    size = len(output.encode("utf-8", "replace")) + (int(cut[1]) if cut else 0)
    words = f"{size} B" if size < 1000 else f"{size / 1000:,.1f} kB"
    if cut:
        return f"about {words}"
    lines = len(output.splitlines())
    return f"{words}, {lines} lines" if lines > 1 else words


class Quiet(Static):
    """A text that is painted only where it has changed: laying a screen out costs more than all else on it. `paint`
    instead of `update`: nothing where the content is the same, no layout where it has as many lines."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self._painted: Content | None = None

    def paint(self, shown: Content) -> None:
        """`shown` fits the width, so that its lines are its height."""
        before, self._painted = self._painted, shown
        if before is None:
            self.update(shown)
        elif not shown.is_same(before):
            self.update(shown, layout=shown.plain.count("\n") != before.plain.count("\n"))
