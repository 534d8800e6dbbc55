"""`replayer compare`."""

from __future__ import annotations

import argparse
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from replayer.compare import METRICS, PRIMARY, compare
from replayer.display import safe
from replayer.errors import PlanError
from replayer.journal import find_run
from replayer.suggest import nearest
from replayer.view import RunView, load, side_by_side


class Command:
    """Is the difference between lanes real? Paired by step where the prompts were the same.

    With several runs, their lanes are set side by side. Examples:

      replayer compare last
      replayer compare tonight last-night --baseline last-night:vllm --metric usable_turn_rate
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
        parser.add_argument("--baseline", metavar="LANE", help="compare every lane with this one")
        parser.add_argument("--metric", action="append", metavar="M", help=f"one of {', '.join(METRICS)}")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def run(self, args: argparse.Namespace) -> int:
        view = side_by_side([load(find_run(name)) for name in args.runs])
        metrics = args.metric or list(METRICS)
        for metric in metrics:
            if metric not in METRICS:
                raise PlanError(f"--metric {metric!r} is no metric{nearest(metric, METRICS)}")
        names = [lane.name for lane in view.lanes]
        if args.baseline is not None and args.baseline not in names:
            raise PlanError(
                f"--baseline {args.baseline!r} is no lane of this run{nearest(args.baseline, names)}"
            )
        pairs = compare(view, baseline=args.baseline, metrics=metrics)
        if args.json:
            print(orjson.dumps({"mode": view.mode, "pairs": pairs}).decode())
        else:
            _print(view, pairs)
        return 0


def _print(view: RunView, pairs: list[dict[str, Any]]) -> None:
    console = Console()
    if not pairs:
        console.print("nothing to compare: fewer than two lanes with steps of the same traces")
        return
    identical = "identical prompts" if view.mode == "recorded" else "prompts diverge, compared by session"
    console.print(
        Text(f"{safe(view.run)} · {view.mode} history · {identical} · primary metric: {PRIMARY}", "bold")
    )
    table = Table(pad_edge=False)
    for column in ("a → b", "metric", "a", "b", "difference", "95 %", "p", "sessions"):
        table.add_column(column)
    for pair in pairs:
        table.add_row(*map(Text, _row(pair)))
    console.print(table)
    for pair in pairs:
        console.print(Text(f"{safe(pair['a'])} → {safe(pair['b'])}: {safe(pair['conclusion'])}"))
    for method in sorted({pair["method"] for pair in pairs}):
        console.print(Text(f"method: {method}", "dim"))


def _row(pair: dict[str, Any]) -> list[str]:
    p = pair.get("p_value_adjusted", pair["p_value"])
    return [
        f"{safe(pair['a'])} → {safe(pair['b'])}",
        pair["metric"],
        f"{pair['value_a']:.4g}",
        f"{pair['value_b']:.4g}",
        f"{pair['difference']:+.4g}",
        f"[{pair['low']:+.4g}, {pair['high']:+.4g}]",
        "–" if p is None else f"{p:.3f}",
        str(pair["n_sessions"]),
    ]
