"""How well, how early and how fast repetition is caught, beside the rules of others.

    python benchmarks/repetition.py [--split tuning|validation] [--root DIR] [--seed N] [--quick] [--baselines N] [--picture FILE.svg]

Files that must stay silent come from this machine (standard library, installed packages, shared documentation);
figures therefore name their number and size. Tokens are characters / 4 except for the real outputs, whose token
counts are known.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from repetition_baselines import RULES
from repetition_corpus import BLIND, SEEDS, Sample, collapses, material
from repetition_hostile import HOSTILE
from repetition_picture import draw
from repetition_table import tables

from benchmarks.repetition_text import Sound, sound
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector, scan
from replayer.wire.types import Delta

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
CHARS_PER_TOKEN = 4.0

Rule = Callable[[str, str], int | None]
"""(text, channel) -> offset in characters at which it calls a collapse, or None."""


def ours(text: str, channel: str = "text", finish_reason: str | None = None) -> int | None:
    finding = scan(text, channel, finish_reason)
    return finding.detected_at if finding and finding.level == "collapsed" else None


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of a share."""
    if not total:
        return 0.0, 1.0
    share, square = hits / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = z * ((share * (1 - share) + square / (4 * total)) / total) ** 0.5 / (1 + square / total)
    return max(0.0, middle - half), min(1.0, middle + half)


# --- recall and delay ----------------------------------------------------------------------------------------


@dataclass
class Family:
    found: int = 0
    total: int = 0
    delays: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    periods: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(self, sample: Sample, at: int | None, chars_per_token: float = CHARS_PER_TOKEN) -> None:
        self.total += 1
        if at is None:
            self.missed.append(sample.name)
            return
        self.found += 1
        delay = max(0, at - sample.onset)
        self.delays.append(delay)
        self.tokens.append(delay / chars_per_token)
        if sample.period:
            self.periods.append(delay / sample.period)

    def row(self, name: str) -> str:
        if not self.delays:
            return f"{name:26s} {self.found:3d}/{self.total:<4d}"
        p95 = sorted(self.delays)[min(len(self.delays) - 1, round(0.95 * len(self.delays)))]
        periods = f"{statistics.median(self.periods):7.2f}" if self.periods else "      –"
        return (
            f"{name:26s} {self.found:3d}/{self.total:<4d} {statistics.median(self.delays):8.0f} {p95:8.0f}"
            f" {statistics.median(self.tokens):8.0f} {periods}"
        )


HEAD = f"{'family':26s} {'recall':8s} {'chars':>8s} {'p95':>8s} {'tokens':>8s} {'periods':>7s}"


def families(samples: Iterable[Sample], rule: Rule) -> dict[str, Family]:
    table: dict[str, Family] = {}
    for sample in samples:
        family = table.setdefault(sample.family, Family())
        family.add(sample, rule(sample.text, sample.channel))
    return table


def embedded(split: str, rule: Rule) -> tuple[dict[str, Family], list[str]]:
    """Real outputs: a Family per label, and the names of sound ones that raised an alarm."""
    table: dict[str, Family] = {}
    alarmed: list[str] = []
    path = CORPUS / f"embedded-{split}.jsonl"
    if not path.exists():
        return table, alarmed
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        family = table.setdefault(row["label"], Family())
        sample = Sample(row["name"], row["label"], row["text"], row["onset"] or 0, row["period"])
        at = (
            rule(row["text"], "text") if rule is not ours else ours(row["text"], "text", row["finish_reason"])
        )
        family.add(sample, at, len(row["text"]) / max(1, row["tokens"]))
        if at is not None and row["label"] == "sound":
            alarmed.append(row["name"])
    return table, alarmed


# --- false alarms --------------------------------------------------------------------------------------------


@dataclass
class Alarms:
    files: dict[str, int] = field(default_factory=dict)
    chars: int = 0
    hits: list[tuple[str, str]] = field(default_factory=list)

    def run(self, files: Iterable[Sound], rule: Rule) -> None:
        for file in files:
            self.files[file.kind] = self.files.get(file.kind, 0) + 1
            self.chars += len(file.text)
            if rule(file.text, "text") is not None:
                self.hits.append((file.kind, file.name))

    def report(self, name: str) -> str:
        total = sum(self.files.values())
        low, high = wilson(len(self.hits), total)
        kinds = ", ".join(
            f"{kind} {sum(k == kind for k, _ in self.hits)}/{count}"
            for kind, count in sorted(self.files.items())
        )
        share = len(self.hits) / total if total else 0.0
        return (
            f"{name:32s} {len(self.hits):5d} of {total} files = {share:.3%} [{low:.3%}, {high:.3%}],"
            f" {len(self.hits) / max(self.chars / 1e6, 1e-9):.3f} per MB  ({kinds})"
        )


# --- speed ---------------------------------------------------------------------------------------------------


def speed(files: list[Sound], size: int, kind: str, limit: int = 4_000_000) -> float:
    """MB/s of CPU time of one reply's deltas of `size` characters, all signals on; every 200,000 characters a new reply."""
    text = "".join(f.text for f in files if f.kind == kind and f.text.isascii())[:limit]
    spent = 0.0
    for start in range(0, len(text), 200_000):
        part = text[start : start + 200_000]
        deltas = [Delta(0, "content", part[i : i + size]) for i in range(0, len(part), size)]
        detector = RepetitionDetector()
        began = time.process_time()
        for delta in deltas:
            detector.observe(delta)
        spent += time.process_time() - began
    return len(text) / spent / 1e6


def hostile() -> list[tuple[float, str]]:
    """MB/s of CPU time of each hostile text in 4-character deltas, slowest first; the better of two runs."""
    rates = []
    for name, make in HOSTILE.items():
        text = make()
        deltas = [Delta(0, "content", text[i : i + 4]) for i in range(0, len(text), 4)]
        rates.append((len(text) / min(_spent(deltas), _spent(deltas)) / 1e6, name))
    return sorted(rates)


def _spent(deltas: list[Delta]) -> float:
    detector = RepetitionDetector()
    began = time.process_time()
    for delta in deltas:
        detector.observe(delta)
    return time.process_time() - began


def growth(files: list[Sound]) -> list[float]:
    """Microseconds per 4-character delta in each quarter of one sound reply of 1 MB."""
    sound_prose = (
        f.text for f in files if f.kind != "data" and f.text.isascii() and ours(f.text[:50_000]) is None
    )
    text = "".join(part[:50_000] for part in sound_prose)[:1_000_000]
    detector = RepetitionDetector()
    quarters = []
    for quarter in range(4):
        part = text[quarter * len(text) // 4 : (quarter + 1) * len(text) // 4]
        deltas = [Delta(0, "content", part[i : i + 4]) for i in range(0, len(part), 4)]
        began = time.process_time()
        for delta in deltas:
            detector.observe(delta)
        quarters.append((time.process_time() - began) / len(deltas) * 1e6)
    return quarters


# --- report --------------------------------------------------------------------------------------------------


def print_recall(split: str, samples: list[Sample]) -> None:
    print(f"\n## Recall and delay after onset, {split} ({len(samples)} synthetic collapses)\n\n{HEAD}")
    table = families(samples, ours)
    for name, family in table.items():
        print(family.row(name), "(blind family)" if name in BLIND else "", *family.missed[:6])
    separable = [family for name, family in table.items() if name not in BLIND]
    real, alarmed = embedded(split, ours)
    print("\nreal outputs of the embedded model, by label:")
    for label, family in sorted(real.items()):
        print(family.row(label), *(family.missed[:6] if label == "collapsed" else ()))
    print(f"sound outputs with an alarm: {alarmed or 'none'}")
    found = sum(f.found for f in separable) + (real["collapsed"].found if "collapsed" in real else 0)
    total = sum(f.total for f in separable) + (real["collapsed"].total if "collapsed" in real else 0)
    low, high = wilson(found, total)
    print(
        f"separable families and real collapses: {found}/{total} = {found / total:.2%} [{low:.2%}, {high:.2%}]"
    )


def print_baselines(files: list[Sound], samples: list[Sample], count: int) -> None:
    some = files[:: max(1, len(files) // count)][:count]
    print(
        f"\n## Rules of others, on {len(some)} of the files and 10 samples a family (first 48 KB of each)\n"
    )
    few = [sample for sample in samples if int(sample.name.rsplit("/", 1)[1]) < 10]
    for name, rule in {"replayer": ours, **RULES}.items():
        alarms = Alarms()
        alarms.run((Sound(f.name, f.kind, f.text[:48_000]) for f in some), rule)
        print(alarms.report(name))
        table = families(few, rule)
        print("   " + "; ".join(_short(family, table[family]) for family in table))


def _short(name: str, family: Family) -> str:
    delay = f" {statistics.median(family.delays):.0f}" if family.delays else ""
    return f"{name} {family.found}/{family.total}{delay}"


def structure(samples: list[Sample], files: list[Sound]) -> None:
    """Growing chains, with a short recorded reply as evidence; sound code, with an unrelated one of the same length."""
    chains = [s for s in samples if s.family == "elif chain"]
    recorded = "I added the missing case to `resolve` and ran the tests: 14 passed.\n" * 3
    found = sum(_collapses(s.text, recorded) for s in chains)
    code = [f for f in files if f.kind == "code" and 4000 < len(f.text) < 60_000][:2000]
    wrong = sum(
        _collapses(f.text, other.text[: len(f.text)])
        for f, other in zip(code, code[1:] + code[:1], strict=True)
    )
    shown = sum(
        finding is not None and finding.level == "suspect" for finding in (scan(f.text) for f in code)
    )
    print("\n## Growing structure, with the recorded reply as evidence\n")
    print(f"elif chains beside a short recorded reply: {found}/{len(chains)} collapsed")
    print(f"sound code beside an unrelated recording of equal length: {wrong}/{len(code)} collapsed")
    print(f"sound code without a recording: {shown}/{len(code)} suspect")


def _collapses(text: str, recorded: str) -> bool:
    detector = RepetitionDetector(Expected(recorded=recorded))
    return any(f.level == "collapsed" for f in detector.observe(Delta(0, "content", text, -1)))


def picture(path: Path) -> None:
    """The collapse of one real output of the validation series that begins late enough to show what was before."""
    rows = [
        json.loads(line) for line in (CORPUS / "embedded-validation.jsonl").read_text("utf-8").splitlines()
    ]
    row = next(r for r in rows if r["label"] == "collapsed" and r["onset"] > 1000 and len(r["text"]) > 2000)
    alarm = ours(row["text"])
    assert alarm is not None
    draw(row["text"], row["onset"], alarm, "New word pairs in a reply of SmolLM2-135M that collapses", path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("tuning", "validation"), default="validation")
    parser.add_argument("--quick", action="store_true", help="every tenth file and no baselines")
    parser.add_argument(
        "--baselines", type=int, default=300, help="files that the rules of others are tried on"
    )
    parser.add_argument("--picture", type=Path, help="write the picture of one collapse (SVG)")
    parser.add_argument(
        "--root", type=Path, action="append", default=[], help="sound files from here instead"
    )
    parser.add_argument("--files", type=Path, help="folder filled by repetition_files.py: new kinds of files")
    parser.add_argument("--seed", type=int, help="draw the synthetic collapses anew")
    args = parser.parse_args()
    if args.seed is not None:
        SEEDS[args.split] = args.seed
    every = list(sound(args.split, args.root))
    files = every[::10] if args.quick else every
    samples = list(collapses(args.split, material(every)))
    began = time.process_time()
    alarms = Alarms()
    alarms.run(files, ours)
    print(
        f"## False alarms, {args.split} ({alarms.chars / 1e6:.1f} MB in {time.process_time() - began:.0f} s)\n"
    )
    print(alarms.report("replayer"))
    for kind, name in alarms.hits[:60]:
        print(f"   {kind}: {name}")
    print_recall(args.split, samples)
    print(f"\n## By family, script and kind of sound text, {args.split}")
    tables(args.split, args.files, listed=False)
    structure(samples, files)
    if not args.quick and args.baselines:
        print_baselines(files, samples, args.baselines)
    print("\n## Speed, one core, all signals\n")
    for kind in ("prose", "code"):
        print(
            f"{kind}: "
            + ", ".join(f"{size}-character deltas {speed(files, size, kind):.1f} MB/s" for size in (4, 32))
        )
    print("µs per 4-character delta, by quarter of a 1 MB reply:", [round(q, 2) for q in growth(every)])
    print(
        "hostile texts, slowest first:", ", ".join(f"{name} {rate:.1f}" for rate, name in hostile()), "MB/s"
    )
    if args.picture:
        picture(args.picture)


if __name__ == "__main__":
    main()
