"""The templates of documents (`report/page/`), and how they escape: HTML, and Markdown."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from replayer.report.section import Section
from replayer.text import markdown as words
from replayer.text import safe


@cache
def environment() -> Environment:
    """Every text is escaped and freed of control characters; only `Markup` is taken as it is."""
    made = Environment(
        loader=PackageLoader("replayer.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else safe(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = _code
    return made


def _code(words: str) -> Markup:
    """`a command` in a sentence is shown as one."""
    parts = safe(words).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def policy(scripts: Iterable[str], style: str) -> str:
    """Nothing runs, styles or loads but what stands in the page with its digest here."""
    hashes = " ".join(map(_digest, scripts))
    return f"default-src 'none'; script-src {hashes}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(name: str) -> str:
    return files("replayer.report").joinpath("page", name).read_text("utf-8")


def render_markdown(template: str, **context: Any) -> str:
    page = _environment().get_template(template).render(context | {"table": _table})
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


@cache
def _environment() -> Environment:
    """Every text is one line of plain words; only `Markup` is taken as it is."""
    made = Environment(
        loader=PackageLoader("replayer.report", "page"),
        autoescape=False,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else words(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["indented"] = lambda text: Markup(
        "\n".join(f"    {safe(line)}" for line in text.splitlines())
    )
    return made


def _table(section: Section) -> Markup:
    """Figures stand at the right."""
    head, *rows = ([words(cell) for cell in line] for line in (section.head, *section.rows))
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return Markup("\n".join("| " + " | ".join(line) + " |" for line in lines))
