"""Loops of noises, as in "(Sigh) (Laughter) …": 20 kinds between ten separators, in turn and in any order, five draws of each.

    python benchmarks/repetition_noises.py [--list]

Prints how many are found within 300 characters of the onset (the first character of the second copy where they come in
turn, of the first noise elsewhere), for the ten kinds of the third set and for ten others.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_unseen import NOISES
from replayer.signals.repetition.detector import scan

OTHERS = {
    "eight": "(Sigh) (Laughter) (Pause) (Cough) (Groan) (Chuckle) (Gasp) (Yawn)".split(),
    "eight acted": "*sighs* *laughs* *coughs* *yawns* *shrugs* *nods* *blinks* *winces*".split(),
    "two acted at length": ["*rubs temples slowly*", "*lets out a long sigh*"],
    "three bare": ["sigh", "laugh", "sob"],
    "four bare": ["Haha", "Hehe", "Sigh", "Hmm"],
    "German": ["(Seufzt)", "(Lacht)", "(Hustet)", "(Stille)", "(Räuspert sich)"],
    "Chinese": ["（叹气）", "（笑）", "（沉默）", "（咳嗽）"],
    "Russian": ["(вздох)", "(смех)", "(пауза)", "(кашель)", "(стон)", "(шёпот)"],
    "counted": ["(Sigh x2)", "(Laughter x3)", "(Pause x2)"],
    "film": ["[sighs]", "[laughter]", "[inaudible]", "[music playing]", "[phone ringing]", "[door closes]"],
}
BETWEEN = (" ", "\n", " … ", ", ", "... ", " - ", "", "\n\n", "; ", ". ")
BEFORE = "I'll read the file first, then change the one line that opens the socket. The tests come last.\n\n"
SHORT = 300


class Noise(NamedTuple):
    name: str
    text: str
    onset: int


def noises(kinds: dict[str, list[str]]) -> Iterator[Noise]:
    for kind, every in kinds.items():
        for between in BETWEEN:
            for draw in range(5):
                rng = random.Random(f"{kind}{between}{draw}")
                some = rng.sample(every, rng.randint(min(2, len(every)), len(every)))
                turn = "".join(noise + between for noise in some)
                yield Noise(f"{kind}/{between!r}/turn {draw}", BEFORE + turn * (3000 // len(turn)), len(turn))
                drawn = "".join(rng.choice(some) + between for _ in range(300))
                yield Noise(f"{kind}/{between!r}/any {draw}", BEFORE + drawn[:3000], 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="name what takes longer")
    listed = parser.parse_args().list
    for title, kinds in (("ten kinds of the third set", NOISES), ("ten others", OTHERS)):
        found = total = 0
        for noise in noises(kinds):
            finding = scan(noise.text)
            hit = finding is not None and finding.level == "collapsed"
            delay = finding.detected_at - len(BEFORE) - noise.onset if hit and finding else None
            total += 1
            found += delay is not None and delay <= SHORT
            if listed and (delay is None or delay > SHORT):
                print(noise.name, delay, repr(noise.text[len(BEFORE) :][:70]))
        print(f"{title}: {found} of {total} within {SHORT} characters")


if __name__ == "__main__":
    main()
