"""One picture of a collapse: how much of each stretch of a reply is new, with onset and alarm marked."""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 760, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 46
WINDOW = 40
"""Words per point."""


def novelty(text: str) -> list[tuple[int, float]]:
    """(offset, share of the last 40 word pairs that are new in the text) at every tenth word."""
    points: list[tuple[int, float]] = []
    seen: set[tuple[str, str]] = set()
    fresh: list[bool] = []
    at, last = 0, ""
    for number, word in enumerate(text.split()):
        at = text.index(word, at) + len(word)
        fresh.append((last, word) not in seen)
        seen.add((last, word))
        last = word
        if number % 10 == 9 and number >= WINDOW:
            points.append((at, sum(fresh[-WINDOW:]) / WINDOW))
    return points


def draw(text: str, onset: int, alarm: int, title: str, path: Path) -> None:
    """Write an SVG of the reply `text`; offsets in characters."""
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(offset: float) -> float:
        return LEFT + wide * offset / len(text)

    def y(share: float) -> float:
        return TOP + high * (1 - share)

    line = " ".join(f"{x(at):.1f},{y(share):.1f}" for at, share in novelty(text))
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.5, 1)
    )
    ticks = "".join(
        f'<text x="{x(at):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{at:,}</text>'
        for at in range(0, len(text), 500)
    )
    marks = "".join(
        f'<line class="{name}" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="{name}" x="{x(at) + shift:.1f}" y="{TOP - 8}" text-anchor="{anchor}">{name} {at:,}</text>'
        for name, at, shift, anchor in (("onset", onset, -4, "end"), ("alarm", alarm, 4, "start"))
    )
    path.write_text(
        f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">
<style>text{{font:12px sans-serif;fill:#57606a}}.title{{font-size:14px;fill:#24292f}}.grid{{stroke:#d0d7de}}
.curve{{fill:none;stroke:#0969da;stroke-width:2}}line.onset{{stroke:#bf8700}}line.alarm{{stroke:#cf222e}}
text.onset{{fill:#9a6700}}text.alarm{{fill:#cf222e}}.wasted{{fill:#cf222e;opacity:.08}}</style>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text class="title" x="{LEFT}" y="18">{escape(title)}</text>
<rect class="wasted" x="{x(alarm):.1f}" y="{TOP}" width="{x(len(text)) - x(alarm):.1f}" height="{high}"/>
{grid}{ticks}
<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">characters of the reply</text>
<polyline class="curve" points="{line}"/>
{marks}
</svg>
""",
        encoding="utf-8",
    )
