"""Plan file and flags as the values of a plan, and the files of its traces."""

from __future__ import annotations

import argparse
import copy
import glob
import tomllib
from pathlib import Path

from replayer.commands.flags import flag
from replayer.commands.plan_flags import add_plan_flags, plan_values
from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.plan.model import Plan
from replayer.traces.library import find
from replayer.wire.credentials import without_secrets
from replayer.wire.types import JsonObject


def add_plan_arguments(parser: argparse.ArgumentParser, plan: str) -> None:
    """A plan file, which `plan` describes, the flags of its keys, and what goes beside it."""
    parser.add_argument("plan", nargs="?", type=Path, metavar="PLAN.toml", help=plan)
    flag(
        parser,
        "--trace FILE",
        "native traces, or names of shipped ones (repeatable)",
        action="extend",
        nargs="+",
        default=[],
    )
    flag(parser, "--engine SPEC", "a lane (repeatable)", action="append", default=[])
    add_plan_flags(parser)
    flag(
        parser,
        "--set KEY=VALUE",
        "any key of a plan, e.g. workload.sessions=4 or matrix.concurrency=[1,2,4] (repeatable)",
        action="append",
        default=[],
    )


def take_plan(args: argparse.Namespace) -> None:
    """`--trace F F …` takes every word up to the next flag, so that patterns work as a shell expands them: a plan file that
    stands last among them is the plan."""
    if args.plan is None and args.trace and args.trace[-1].endswith(".toml"):
        args.plan = Path(args.trace.pop())


def merged(values: JsonObject, args: argparse.Namespace) -> JsonObject:
    from replayer.engines.engine_spec import parse

    values = dict(values)
    for key, given in plan_values(args).items():
        old = values.get(key, {})
        both = key in ("limits", "load") and isinstance(old, dict)
        values[key] = {**old, **given} if both else given
    if "baseline" in values and values["baseline"] is not None:
        values["baseline"] = str(find_run(values["baseline"]).resolve())
    for text in args.set:
        assign(values, text)
    if args.trace:
        values["traces"] = args.trace
    lanes = [parse(text).lane() for text in args.engine]
    values["lane"] = [*values.get("lane", []), *lanes] if isinstance(values.get("lane", []), list) else lanes
    return values


def resolve(values: JsonObject, plan_file: Path | None) -> dict[str, Path]:
    """Give the plan's values the labels of its recorded traces; returns their files."""
    if not values.get("traces") and values.get("workload"):
        return {}
    values["traces"], paths = resolve_traces(values.get("traces", []), plan_file)
    return paths


def resolve_traces(wanted: object, plan_file: Path | None) -> tuple[list[str], dict[str, Path]]:
    """Names, paths and globs -> labels and files. Globs of a plan file start at its folder."""
    if not isinstance(wanted, list) or not wanted:
        raise PlanError("no trace to replay: name one with --trace (`replayer demo` uses fix-failing-test)")
    paths: dict[str, Path] = {}
    for text in map(str, wanted):
        for path in _expand(text, plan_file):
            label = path.parent.name if path.name.startswith("trace.jsonl") else _stem(path.name)
            while label in paths and paths[label] != path:
                label += "_"
            paths[label] = path
    return list(paths), paths


def _stem(name: str) -> str:
    for suffix in (".zst", ".jsonl", ".trace"):
        name = name.removesuffix(suffix)
    return name.replace("/", "_") or "trace"


def _expand(text: str, plan_file: Path | None) -> list[Path]:
    if not glob.has_magic(text):
        beside = plan_file.parent / text if plan_file else None
        return [beside] if beside is not None and beside.is_file() else [find(text)]
    base = plan_file.parent if plan_file else Path()
    found = sorted(Path(match) for match in glob.glob(str(base / text), recursive=True))
    if not found:
        raise PlanError(f"no file matches the trace pattern {text!r}")
    return found


def complete(plan: Plan) -> None:
    if not plan.lane:
        raise PlanError("no engine to replay against: name one with --engine NAME=URL, or NAME=embedded")


def assign(values: JsonObject, text: str) -> None:
    """Set a dotted key in the values of a plan; under an array of tables (`lane`, `workload`) in each of them.

    The value is TOML, or a string where it is none. Raises PlanError.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise PlanError(
            f"--set {without_secrets(text)!r} is not KEY=VALUE, for example --set workload.sessions=4"
        )
    head, dot, rest = key.partition(".")
    values[head] = _changed(values.get(head), rest, _parsed(value), text) if dot else _parsed(value)


def _parsed(value: str) -> object:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _changed(old: object, key: str, value: object, text: str) -> object:
    """`old` with `key` set. The keys of a matrix are dotted themselves, and taken whole."""
    if isinstance(old, list):
        return [_changed(entry, key, value, text) for entry in old]
    if old is not None and not isinstance(old, dict):
        raise PlanError(f"--set {without_secrets(text)!r}: there is no table to set {key!r} in")
    changed = copy.copy(old) if old else {}
    head, dot, rest = key.partition(".")
    if dot and isinstance(changed.get(head), dict):
        changed[head] = _changed(changed[head], rest, value, text)
    else:
        changed[key] = value
    return changed
