"""The templates of documents (`report/page/`), and how they escape: HTML, and Markdown."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from replayer.report import pictures
from replayer.report.charts import Chart
from replayer.report.section import Section
from replayer.text import markdown as words
from replayer.text import safe


def render_page(
    template: str, title: str, drawn: Sequence[Chart] = (), *scripts: str, data: object = None, **context: object
) -> str:  # fmt: skip
    """A document that needs nothing else: style, data and scripts stand in it, and its policy lets no others run."""
    shown, style = pictures.available(), _page("style.css")
    moving = [pictures.bundle(), _page("pictures.js")] if shown and drawn else []
    code = [*moving, *map(_page, scripts)]
    found: dict[str, object] = {"charts": {one.key: one.spec for one in drawn}} if moving else {}
    found |= {"data": data} if data is not None else {}
    return (
        environment()
        .get_template(template)
        .render(
            context,
            title=title,
            policy=_policy(code, style),
            style=Markup(style),
            scripts=[Markup(script) for script in code],
            data={key: _json(value) for key, value in found.items()},
            missing="" if shown or not drawn else pictures.MISSING,
        )
    )


@cache
def environment() -> Environment:
    """Every text is escaped and freed of control characters."""
    made = _environment(safe, escaped=True)
    made.filters["code"] = _code
    return made


def _environment(clean: Callable[[str], str], *, escaped: bool) -> Environment:
    """Each value passes through `clean`; only `Markup` is taken as it is."""
    return Environment(
        loader=PackageLoader("replayer.report", "page"),
        autoescape=escaped,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else clean(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _code(words: str) -> Markup:
    """`a command` in a sentence is shown as one."""
    parts = safe(words).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def _policy(scripts: Iterable[str], style: str) -> str:
    """Nothing runs, styles or loads but what stands in the page with its digest here."""
    hashes = " ".join(map(_digest, scripts)) or "'none'"
    return f"default-src 'none'; script-src {hashes}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _page(name: str) -> str:
    return files("replayer.report").joinpath("page", name).read_text("utf-8")


def _json(value: object) -> Markup:
    """As data in a page: no `<` ends its element."""
    words = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(words.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def render_markdown(template: str, **context: object) -> str:
    page = _markdown().get_template(template).render(context | {"table": _table})
    return re.sub(r"\n{3,}", "\n\n", page).rstrip() + "\n"


@cache
def _markdown() -> Environment:
    """Every text is one line of plain words."""
    made = _environment(words, escaped=False)
    made.filters["indented"] = lambda text: Markup(
        "\n".join(f"    {safe(line)}" for line in text.splitlines())
    )
    return made


def _table(section: Section) -> Markup:
    """Figures stand at the right."""
    head, *rows = ([words(cell) for cell in line] for line in (section.head, *section.rows))
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return Markup("\n".join("| " + " | ".join(line) + " |" for line in lines))
