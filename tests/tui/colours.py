"""Colours of an exported picture, and how far apart two of them are."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from textual.app import App
from textual.color import Color

from tests.tui.pictures import LINE_HEIGHT, SESSION_WIDTH

_RULE = re.compile(r"\.[\w-]+?-(r\d+) \{([^}]*)\}")
_FILL = re.compile(r"fill: (#[0-9a-fA-F]{6})")
_RECT = re.compile(r'<rect fill="(#[0-9a-fA-F]{6})" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')
_TEXT = re.compile(r'<text class="[\w-]+?-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', re.S)


class Painted(NamedTuple):
    """A run of text in one colour."""

    text: str
    line: int
    colour: Color
    ground: Color


def painted(app: App[Any]) -> Iterator[Painted]:
    """Every run of text on the screen, with the colour that it stands on at its begin."""
    svg = app.export_screenshot(simplify=False)
    fills = {name: found[1] for name, rule in _RULE.findall(svg) if (found := _FILL.search(rule))}
    rects: dict[int, list[tuple[float, float, str]]] = {}
    for colour, x, y, width in _RECT.findall(svg):
        rects.setdefault(round(float(y) / LINE_HEIGHT), []).append(
            (float(x), float(x) + float(width), colour)
        )
    for name, x, y, text in _TEXT.findall(svg):
        line = round((float(y) - 18.5) / LINE_HEIGHT)
        middle = float(x) + SESSION_WIDTH / 2
        ground = next((colour for left, right, colour in rects.get(line, ()) if left <= middle < right), None)
        if ground is not None and name in fills:
            said = html.unescape(text).replace("\xa0", " ")
            yield Painted(said, line, Color.parse(fills[name]), Color.parse(ground))


def contrast(one: Color, other: Color) -> float:
    """WCAG 2.2: from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(colour: Color) -> tuple[float, float, float]:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return red, green, blue


_EYES = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}  # fmt: skip
"""Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB."""
EYES = tuple(_EYES)


def difference(one: Color, other: Color, eyes: str) -> float:
    """CIE 1976 difference (ΔE) of two colours as such eyes see them; 2.3 is just noticeable."""
    a, b = (_lab(_seen(colour, eyes)) for colour in (one, other))
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


def _seen(colour: Color, eyes: str) -> tuple[float, ...]:
    parts = linear(colour)
    return tuple(
        max(0.0, min(1.0, sum(factor * part for factor, part in zip(row, parts, strict=True))))
        for row in _EYES[eyes]
    )


def _lab(rgb: tuple[float, ...]) -> tuple[float, float, float]:
    red, green, blue = rgb
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
