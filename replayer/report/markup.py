"""HTML from nested calls. A plain string is always text: only `Html` is taken as markup, so nothing slips through."""

from __future__ import annotations

from html import escape

from replayer.text import safe

_VOID = frozenset({"meta", "br"})


class Html(str):
    """Markup that is already escaped."""

    __slots__ = ()


Child = str | None
"""`str` is escaped and cleaned of control characters, `Html` is kept, None is left out."""


def text(value: str) -> Html:
    return value if isinstance(value, Html) else Html(escape(safe(value)))


def join(*children: Child, between: str = "") -> Html:
    return Html(text(between).join(text(child) for child in children if child is not None))


def el(name: str, /, *children: Child, **attributes: str | float | None) -> Html:
    """An element. `class_` is class, other underscores are hyphens; an attribute that is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    opening = f"<{name}{written}>"
    return Html(opening) if name in _VOID else Html(f"{opening}{join(*children)}</{name}>")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def table(head: list[str], rows: list[list[Child]], *, label: str = "") -> Html:
    """A table that scrolls in itself where the page is narrow; the first column is its row headers."""
    body = [
        el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in rows if row
    ]
    return el(
        "div",
        el(
            "table",
            el("thead", el("tr", *(el("th", cell, scope="col") for cell in head))),
            el("tbody", *body),
            aria_label=label or None,
        ),
        class_="wide",
    )
