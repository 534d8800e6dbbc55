"""Is the difference between lanes real? Paired by turn where the prompts were the same.

With several runs, their lanes are set side by side; with a run as --baseline, each lane is compared with the lane
of the same name in it. Examples:

  replayer compare last
  replayer compare tonight --baseline last-night --metric usable_turn_rate
  replayer compare last --baseline vllm --metric ttft_ms.p95 --metric itl_ms.p99
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from replayer.commands.flags import flag
from replayer.errors import PlanError, RunFolderError
from replayer.journal.log import find_run
from replayer.journal.several_runs import against, check_same_traces, load_several, prompt_differences
from replayer.journal.view import LaneView, RunView, load
from replayer.metrics.catalogue import COMPARED, DEFAULT, PRIMARY, resolve
from replayer.metrics.compare import compare, is_aa, lane_pairs
from replayer.metrics.conclusions import pair_sentences
from replayer.metrics.run_documents import Pair
from replayer.metrics.shown import and_list, chance, figure, interval, signed
from replayer.report.section import Section
from replayer.report.table import print_section
from replayer.text import console, nearest, print_json, safe
from replayer.traces.compact import uncollected

Lanes = Iterable[tuple[LaneView, LaneView]]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
    flag(parser, "--baseline LANE|RUN", "compare every lane with this one, or with this run's")
    flag(
        parser, "--metric M", f"one of {', '.join(COMPARED)} (default: {', '.join(DEFAULT)})", action="append"
    )
    flag(parser, "--aa", "only how much each lane differs from itself (of a run with --aa)")
    flag(parser, "--json", "print one JSON document")


@uncollected()
def run(args: argparse.Namespace) -> int:
    view = load_several([find_run(name) for name in args.runs])
    metrics = [_metric(key) for key in args.metric or DEFAULT]
    view, lanes, differing = _lanes(view, args)
    pairs = compare(view, pairs=lanes, metrics=metrics)
    if args.json:
        said = {"mode": view.mode, "prompts_differ": differing, "pairs": pairs}
        print_json({**said, "conclusions": pair_sentences(pairs)})
    else:
        _print(view, pairs, differing)
    return 0


def _metric(key: str) -> str:
    try:
        return resolve(key, among=COMPARED).key
    except PlanError as error:
        raise PlanError(f"--metric {key!r}: {error}") from None


def _lanes(view: RunView, args: argparse.Namespace) -> tuple[RunView, Lanes, list[str]]:
    """The view and the pairs to compare, and what made their prompts differ."""
    names = [lane.name for lane in view.lanes]
    differing = prompt_differences([load(find_run(name)) for name in args.runs])
    if args.aa:
        pairs = [(a, b) for a, b in lane_pairs(view.lanes) if is_aa(a.name, b.name)]
        if not pairs:
            raise PlanError("--aa: no lane of this run was replayed twice; `replayer run --aa` does that")
        return view, pairs, differing
    if args.baseline is None or args.baseline in names:
        return view, lane_pairs(view.lanes, args.baseline), differing
    try:
        folder = find_run(args.baseline)
    except RunFolderError:
        raise PlanError(
            f"--baseline {args.baseline!r} is not a lane of this run and no other run{nearest(args.baseline, names)}"
        ) from None
    check_same_traces([folder, *map(find_run, args.runs)])
    base = load(folder)
    differing = prompt_differences([base, view]) or differing
    return *against(view, base), differing


def _print(view: RunView, pairs: list[Pair], differing: list[str]) -> None:
    screen = console()
    if not pairs:
        screen.print("nothing to compare: fewer than two lanes with turns of the same traces")
        return
    identical = "identical prompts" if view.mode == "recorded" else "prompts diverge, compared by session"
    if differing:
        identical = f"prompts differ in {and_list(differing)}"
    screen.print(
        Text(f"{safe(view.run)} · {view.mode} history · {identical} · primary metric: {PRIMARY}", "bold")
    )
    for a, b in dict.fromkeys((pair.a, pair.b) for pair in pairs):
        screen.print()
        _print_pair(screen, [pair for pair in pairs if (pair.a, pair.b) == (a, b)])
    screen.print()
    for method in sorted({pair.method for pair in pairs}):
        screen.print(Text(f"method: {method}", "dim"))
    tested = sum(pair.p_value is not None for pair in pairs)
    if tested > 1:
        words = f"p (adjusted): Holm over {tested} tests, family-wise error 5 %"
        screen.print(Text(words, "dim"))


def _print_pair(screen: Console, pairs: list[Pair]) -> None:
    a, b, sessions = pairs[0].a, pairs[0].b, max(pair.n_sessions for pair in pairs)
    in_turns = [pair.n_turns for pair in pairs if COMPARED[pair.metric].counted == "turns"]
    turns = max(in_turns, default=pairs[0].n_turns)
    title = f"{a} → {b} · {sessions} {'session' if sessions == 1 else 'sessions'} · {turns:,} turns"
    head = ["metric", a, b, "difference", "95 % interval", "p (adjusted)"]
    print_section(Section(title, head, list(map(_row, pairs))), screen)
    for found in pair_sentences(pairs):
        screen.print(Text(safe(found.words)))


def _row(pair: Pair) -> list[str]:
    metric = COMPARED[pair.metric]
    values = [figure(metric, pair.value_a), figure(metric, pair.value_b), signed(metric, pair.difference)]
    return [pair.metric, *values, interval(metric, pair), chance(pair.p_value_adjusted)]
