"""Judge recorded sessions of any known agent: verdicts, repetition, loops, prefix reuse. No engine is asked.

FILE is a recording of any format that `import` knows, a folder of them, or the name of a shipped session. A lane
of the report is a model. The result is a run folder: `watch`, `report` and `compare` show it as any other.

Examples:
  replayer audit ~/.claude/projects/-home-me-app
  replayer audit sessions/*.jsonl --json
  replayer audit thread.json --out runs/audit && replayer watch runs/audit
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from replayer.commands.flags import flag
from replayer.commands.import_ import converted, inputs, staged
from replayer.commands.many import Cluster, add_processes_flag, mapped
from replayer.errors import TraceError
from replayer.journal.log import create_folder, new_run_folder
from replayer.run.audit import COUNTS, Audited, audit, read
from replayer.text import console, print_json, safe
from replayer.traces.library import shipped
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from rich.table import Table

_WORDS = {"trace": "session", "lane": "model", "failed": "failed calls", "collapsed": "repeated itself"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recordings, folders of them, or shipped sessions"
    )
    flag(parser, "--out DIR", "the run folder (default: a new one under runs/)")
    add_processes_flag(parser)
    flag(parser, "--json", "one JSON document on stdout")


def run(args: argparse.Namespace) -> int:
    folder = new_run_folder("audit", args.out)
    create_folder(folder)
    errors: list[TraceError] = []
    recordings = list(_recordings(args.files, folder / "traces", errors, args.processes))
    for error in errors:
        print(f"replayer: {error}", file=sys.stderr)
    if not recordings:
        raise TraceError("nothing to audit: no file holds a recorded turn")
    from replayer.metrics.figures import run_figures

    view, rows = audit(recordings, folder, partial(mapped, processes=args.processes))
    if args.json:
        document: JsonObject = orjson.loads(orjson.dumps(run_figures(view)))
        print_json({**document, **_tables(rows, recordings)})
    else:
        from replayer.report.table import print_report

        screen = console()
        print_report(run_figures(view), screen, str(folder))
        for title, found in _tables(rows, recordings).items():
            screen.print(_table(title.replace("_", " "), found))
    return TraceError.exit_code if errors else 0


def _recordings(
    names: list[str], traces: Path, errors: list[TraceError], processes: int | Cluster
) -> Iterator[Audited]:
    """Imports every file into a folder of its own below `traces`; what cannot be read goes to `errors`."""
    known, found = shipped(), list[tuple[Path, str | None]]()
    for name in names:
        if name in known and not Path(name).exists():
            found.append((known[name], name))
            continue
        try:
            found += [(path, None) for path in inputs(name)]
        except TraceError as error:
            errors.append(error)
    with staged(traces) as stage:
        jobs = [(path, stage / str(number)) for number, (path, _) in enumerate(found)]
        results = mapped(_imported, jobs, processes)
        import_module("replayer.metrics.figures")  # while others work
        for (_, shipped_name), outcomes in zip(found, results, strict=True):
            for outcome in outcomes:
                if isinstance(outcome, TraceError):
                    errors.append(outcome)
                elif outcome.turns:
                    yield _placed(outcome, shipped_name or outcome.name, traces)
                else:
                    print(
                        f"replayer: {outcome.source}: nothing to audit, it holds no LLM call", file=sys.stderr
                    )


def _imported(job: tuple[Path, Path]) -> list[Audited | TraceError]:
    return [one if isinstance(one, TraceError) else read(one) for one in converted(job)]


def _placed(recording: Audited, base: str, traces: Path) -> Audited:
    """At the place that a run folder has for a trace."""
    numbered = (f"{base}-{number}" for number in count(2))
    name = next(name for name in chain([base], numbered) if not (traces / name).exists())
    (traces / name).mkdir(0o700)
    target = recording.path.rename(traces / name / "trace.jsonl")
    target.chmod(0o600)
    return replace(recording, name=name, path=target)


def _tables(rows: list[JsonObject], recordings: list[Audited]) -> dict[str, list[JsonObject]]:
    """Counts per session and per agent; those per model are the report's lanes."""
    agents = {recording.name: recording.agent for recording in recordings}
    sessions = [{"agent": agents[row["trace"]], **row} for row in rows]
    by_agent: dict[str, JsonObject] = {}
    for row in sessions:
        total = by_agent.setdefault(
            row["agent"], {"agent": row["agent"], "sessions": 0, **dict.fromkeys(COUNTS, 0)}
        )
        total["sessions"] += 1
        for key in COUNTS:
            total[key] += row[key]
    return {"per_session": sessions, "per_agent": list(by_agent.values())}


def _table(title: str, rows: list[JsonObject]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for key in rows[0]:
        table.add_column(_WORDS.get(key, key), justify="right" if isinstance(rows[0][key], int) else "left")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else safe(value) for value in row.values()))
    return table
