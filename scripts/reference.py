"""Hook of mkdocs: writes the reference from the code at each build, so that it cannot be old.

Commands come from their own parsers, plan keys and JSON keys from their types and the sentences under each field, metrics
from the catalogue.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import os
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from replayer.cli import COMMANDS, load
from replayer.journal.view_parts import ShardView
from replayer.metrics.catalogue import METRICS, PRIMARY
from replayer.metrics.run_documents import RunFigures
from replayer.plan.load_shape import Flag
from replayer.plan.model import Plan
from replayer.tools.verdicts.verdict import Blame, FaultClass

_LATE = {"ShardView": ShardView}
"""What a document's types name and its module imports for the checker only."""


def commands() -> str:
    """Per command its purpose, long help and flags."""
    parts = ["# Commands\n\nMade from the commands' own help.\n"]
    for name, purpose in COMMANDS.items():
        command = load(name)
        parser = argparse.ArgumentParser(
            prog=f"replayer {name}",
            description=inspect.getdoc(type(command)),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(parser)
        parts.append(
            f"## {name}\n\n{purpose[0].upper()}{purpose[1:]}.\n\n````text\n{parser.format_help()}````\n"
        )
    return "\n".join(parts)


def plan_keys() -> str:
    """Every key of a plan file, table by table."""
    parts = ["# Plan keys\n\nMade from the code. A key with a flag can be given on the command line too.\n"]
    for title, model in _tables(Plan, "the plan"):
        rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
        for name, field in model.model_fields.items():
            if name in ("secrets", "base", "setting"):
                continue  # replayer writes these itself
            flag = next((one for one in field.metadata if isinstance(one, Flag)), None)
            words = [flag.help[0].upper() + flag.help[1:] + "."] if flag else []
            words += [sentence] if (sentence := _sentences(model).get(name)) else []
            words += [f"Flag `{flag.name or '--' + name.replace('_', '-')}`."] if flag else []
            default = (
                "required"
                if field.is_required()
                else f"`{_default(field.get_default(call_default_factory=True))}`"
            )
            rows.append(f"| `{name}` | {_type(field.annotation)} | {default} | {_cell(' '.join(words))} |")
        parts.append(f"## {title}\n\n{_cell(inspect.getdoc(model) or '')}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def metrics() -> str:
    """Every figure of the catalogue."""
    rows = [
        "| metric | meaning | unit | better | compared | where in JSON | how |",
        "|---|---|---|---|---|---|---|",
    ]
    for metric in METRICS.values():
        compared = "first" if metric.key == PRIMARY else "yes" if metric.compared else ""
        cells = (
            f"`{metric.key}`",
            metric.words,
            metric.unit,
            metric.better or "",
            compared,
            f"`{metric.path}`",
            metric.explained,
        )
        rows.append("| " + " | ".join(map(_cell, cells)) + " |")
    return (
        "# Metrics\n\nMade from the catalogue, which is the only place that computes or names a figure. `--fail-if` and "
        "`--metric` take the names of the first column; a path of the sixth begins at a lane of `report --json`.\n\n"
        + "\n".join(rows)
    )


def json_keys() -> str:
    """The document of `report --json`, type by type."""
    parts = [
        "# JSON keys\n\nMade from the types behind `report --json`. Keys are added freely and never renamed; `null` is unknown, "
        "never 0.\n",
        f"Fault classes: {_names(FaultClass)}. Who is to blame: {_names(Blame)}. [What they mean](faults.md).\n",
    ]
    for document in _documents(RunFigures):
        hints, words = get_type_hints(document, localns=_LATE), _sentences(document)
        rows = ["| key | type | meaning |", "|---|---|---|"]
        rows += [
            f"| `{f.name}` | {_type(hints[f.name])} | {_cell(words.get(f.name, ''))} |"
            for f in dataclasses.fields(document)
        ]
        parts.append(
            f"## {document.__name__}\n\n{_cell(inspect.getdoc(document) or '')}\n\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def _tables(model: type[BaseModel], title: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield title, model
    for name, field in model.model_fields.items():
        for inner in _inner(field.annotation):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                several = get_origin(field.annotation) is tuple
                yield from _tables(inner, f"[[{name}]]" if several else f"[{name}]")


def _documents(document: type, seen: set[type] | None = None) -> Iterator[type]:
    seen = set() if seen is None else seen
    seen.add(document)
    yield document
    for hint in get_type_hints(document, localns=_LATE).values():
        for inner in _inner(hint):
            if dataclasses.is_dataclass(inner) and inner not in seen:
                yield from _documents(inner, seen)


def _inner(hint: Any) -> Iterator[Any]:
    yield hint
    for part in get_args(hint):
        yield from _inner(part)


def _sentences(owner: type) -> dict[str, str]:
    """By field the text under it, in the class and in those that it is made of."""
    found: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("replayer"):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
            for field, text in pairwise(body):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    found[field.target.id] = inspect.cleandoc(str(text.value.value))  # type: ignore[union-attr]
    return found


def _type(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _type(part) for part in parts)
    if origin is not None and str(origin).endswith("Literal"):
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (list, tuple):
        return "list of " + _type(parts[0])
    if origin is not None and len(parts) == 2:
        return f"table of {_type(parts[1])}"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return "table"
    if dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    name = getattr(hint, "__name__", str(hint))
    return {
        "str": "text",
        "int": "whole number",
        "float": "number",
        "bool": "true or false",
        "dict": "table",
        "Any": "any value",
    }.get(name, name)


def _default(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "see its table"
    if isinstance(value, bool) or value is None:
        return "omitted" if value is None else str(value).lower()
    return "[]" if value == () else str(value)


def _names(literal: Any) -> str:
    return ", ".join(f"`{name}`" for name in get_args(literal))


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


PAGES = {"commands.md": commands, "plan-keys.md": plan_keys, "metrics.md": metrics, "json-keys.md": json_keys}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    os.environ["COLUMNS"] = "100"
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files


if __name__ == "__main__":
    print(PAGES[sys.argv[1]]())
