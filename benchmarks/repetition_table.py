"""The confusion tables: what is found and what alarms, by family, by script and by kind of sound text.

    python benchmarks/repetition_table.py [--part tuning|validation|unseen|fourth|…|tenth] [--files FOLDER] [--list] [--seed S] [--skip N]

`--files` is the folder that `repetition_files.py FOLDER` (for later sets `repetition_fourth_sound.py`, `repetition_fifth_sound.py`) has
filled; without it only the drawn texts are judged. `--seed` draws a later set anew; `--skip` takes the files after those.
Tokens are characters / 4 (1.5 where a script has more than half of its characters beyond U+2E80).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_eighth import SEED as SEED_OF_EIGHTH
from benchmarks.repetition_eighth import drawn as drawn_eighth
from benchmarks.repetition_eighth import eighth
from benchmarks.repetition_fifth import SEED as SEED_OF_FIFTH
from benchmarks.repetition_fifth import fifth
from benchmarks.repetition_fifth_sound import drawn as drawn_fifth
from benchmarks.repetition_fifth_sound import files as files_fifth
from benchmarks.repetition_files import files
from benchmarks.repetition_fourth import SEED, fourth
from benchmarks.repetition_fourth_sound import drawn as drawn_fourth
from benchmarks.repetition_fourth_sound import files as files_fourth
from benchmarks.repetition_loops import Loop, Part, loops
from benchmarks.repetition_machine import machine
from benchmarks.repetition_ninth import SEED as SEED_OF_NINTH
from benchmarks.repetition_ninth import drawn as drawn_ninth
from benchmarks.repetition_ninth import ninth
from benchmarks.repetition_seventh import SEED as SEED_OF_SEVENTH
from benchmarks.repetition_seventh import seventh
from benchmarks.repetition_seventh_sound import drawn as drawn_seventh
from benchmarks.repetition_seventh_sound import files as files_seventh
from benchmarks.repetition_sixth import SEED as SEED_OF_SIXTH
from benchmarks.repetition_sixth import sixth
from benchmarks.repetition_sixth_sound import drawn as drawn_sixth
from benchmarks.repetition_sound import drawn
from benchmarks.repetition_tenth import SEED as SEED_OF_TENTH
from benchmarks.repetition_tenth import tenth
from benchmarks.repetition_tenth_sound import drawn as drawn_tenth
from benchmarks.repetition_unseen import unseen
from benchmarks.repetition_work import works
from replayer.signals.repetition.detector import scan

WIDE = 0x2E80


@dataclass
class Row:
    """Counts of one family or script."""

    total: int = 0
    found: int = 0
    suspect: int = 0
    delays: list[float] = field(default_factory=list)

    def shown(self, name: str) -> str:
        delay = f"{statistics.median(self.delays):6.0f} {high(self.delays):6.0f}" if self.delays else ""
        return f"| {name:26s} | {self.found:3d}/{self.total:<3d} | {self.suspect:2d} | {delay} |"


def high(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[min(len(values) - 1, round(0.95 * len(values)))]


def tokens(text: str) -> float:
    wide = sum(ord(character) >= WIDE for character in text)
    return len(text) / (1.5 if wide > len(text) / 2 else 4)


def recall(samples: Iterable[Loop], listed: bool) -> None:
    families: dict[str, Row] = defaultdict(Row)
    scripts: dict[str, Row] = defaultdict(Row)
    whole = Row()
    for sample in samples:
        finding = scan(sample.text, sample.channel, sample.finish_reason)
        hit = finding is not None and finding.level == "collapsed"
        delay = tokens(sample.text[sample.onset : finding.detected_at]) if hit and finding else 0.0
        if listed and (not hit or delay > 400):
            print(
                "late" if hit else "missed",
                sample.name,
                finding and (finding.level, finding.kind),
                round(delay),
                len(sample.text),
                sample.finish_reason,
            )
        for row in (families[sample.family], scripts[sample.script], whole):
            row.total += 1
            row.found += hit
            row.suspect += finding is not None and not hit
            row.delays += [delay] if hit else []
    for title, table in (("family", families), ("script", scripts)):
        print(f"\n| {title:26s} | found   | suspect | median, p95 tokens |\n|---|---|---|---|")
        for name, row in table.items():
            print(row.shown(name))
    print(whole.shown("all"))


def alarms(texts: Iterable[tuple[str, str, str]], listed: bool) -> None:
    """(group, name, text) of sound texts."""
    table: dict[str, Row] = defaultdict(Row)
    for group, name, text in texts:
        finding = scan(text)
        hit = finding is not None and finding.level == "collapsed"
        for row in (table[group], table["all sound"]):
            row.total += 1
            row.found += hit
            row.suspect += finding is not None and not hit
        if listed and hit and finding:
            print(
                "ALARM",
                group,
                name,
                finding.kind,
                finding.onset,
                finding.detected_at,
                repr(finding.unit[:90]),
            )
    print("\n| sound | alarms | suspect |\n|---|---|---|")
    for group, row in table.items():
        print(f"| {group:20s} | {row.found:3d}/{row.total:<4d} | {row.suspect:3d} |")


def tables(part: Part, folder: Path | None, *, listed: bool) -> None:
    recall(loops(part), listed)
    alarms(((work.group, work.name, work.text) for work in works(part)), listed)
    if folder:
        alarms(((f"file, {file.kind}", file.name, file.text) for file in files(folder, part)), listed)


def unseen_tables(*, listed: bool) -> None:
    """The third set: other generators, other words, and files of this machine."""
    recall(unseen(), listed)
    alarms(((f"drawn {text.kind}", text.name, text.text) for text in drawn()), listed)
    alarms(((text.kind, text.name, text.text) for text in machine()), listed)


def fourth_tables(folder: Path | None, seed: str, skip: int, *, listed: bool) -> None:
    """The fourth set; `skip` files of each kind are left out."""
    recall(fourth(seed), listed)
    alarms(((f"drawn {text.kind}", text.name, text.text) for text in drawn_fourth(f"sound {seed}")), listed)
    alarms(((text.kind, text.name, text.text) for text in files_fourth(folder, skip)), listed)


def fifth_tables(folder: Path | None, seed: str, *, listed: bool) -> None:
    recall(fifth(seed), listed)
    alarms(((f"drawn {text.kind}", text.name, text.text) for text in drawn_fifth(f"sound {seed}")), listed)
    alarms(((text.kind, text.name, text.text) for text in files_fifth(folder)), listed)


SMALL = {
    "sixth": (sixth, drawn_sixth, SEED_OF_SIXTH),
    "eighth": (eighth, drawn_eighth, SEED_OF_EIGHTH),
    "ninth": (ninth, drawn_ninth, SEED_OF_NINTH),
    "tenth": (tenth, drawn_tenth, SEED_OF_TENTH),
}


def small_tables(part: str, seed: str | None, *, listed: bool) -> None:
    loops_of, drawn_of, usual = SMALL[part]
    recall(loops_of(seed or usual), listed)
    alarms(((text.kind, text.name, text.text) for text in drawn_of(f"sound {seed or usual}")), listed)


def seventh_tables(folder: Path | None, seed: str, *, listed: bool) -> None:
    recall(seventh(seed), listed)
    alarms(((f"drawn {text.kind}", text.name, text.text) for text in drawn_seventh(f"sound {seed}")), listed)
    alarms(((text.kind, text.name, text.text) for text in files_seventh(folder)), listed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--part",
        choices=("tuning", "validation", "unseen", "fourth", "fifth", "seventh", *SMALL),
        default="validation",
    )
    parser.add_argument("--files", type=Path, help="folder filled by repetition_files.py")
    parser.add_argument("--list", action="store_true", help="name what is missed, late, or alarms")
    parser.add_argument("--seed", help="draw the fourth or a later set anew")
    parser.add_argument("--skip", type=int, default=0, help="files of each kind to leave out")
    args = parser.parse_args()
    if args.part == "unseen":
        unseen_tables(listed=args.list)
    elif args.part == "fourth":
        fourth_tables(args.files, args.seed or SEED, args.skip, listed=args.list)
    elif args.part == "fifth":
        fifth_tables(args.files, args.seed or SEED_OF_FIFTH, listed=args.list)
    elif args.part in SMALL:
        small_tables(args.part, args.seed, listed=args.list)
    elif args.part == "seventh":
        seventh_tables(args.files, args.seed or SEED_OF_SEVENTH, listed=args.list)
    else:
        tables(args.part, args.files, listed=args.list)


if __name__ == "__main__":
    main()
