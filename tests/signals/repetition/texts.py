"""Texts and helpers that the tests of the repetition signal share."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from replayer.signals.repetition.detector import RepetitionDetector
from replayer.signals.repetition.finding import Finding
from replayer.wire.types import Channel, Delta, Reply, Timing

TESTS = Path(__file__).parents[2]
NOTHING = Reply(timing=Timing(sent=0, headers=None, first_token=None, ended=0))
NOISES = ("(Sigh)", "(Laughter)", "(Pause)", "okay")
OPENING = (
    "I read push() and flush(). The queue is emptied one record late, because the test is `>` and not `>=`. "
)


def feed(
    detector: RepetitionDetector, text: str, size: int = 4, channel: Channel = "content", call_index: int = -1
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for start in range(0, len(text), size):
        found += [
            f.as_dict() for f in detector.observe(Delta(0, channel, text[start : start + size], call_index))
        ]
    return found


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / path).read_text(encoding="utf-8").splitlines()]


def collapsed(finding: Finding | None) -> bool:
    return finding is not None and finding.level == "collapsed"


def babble(seed: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice(NOISES) + " " for _ in range(400))


def edited(seed: int) -> str:
    """One paragraph over and over, every twentieth word another one each time."""
    rng = random.Random(seed)
    words = [
        "the",
        "parser",
        "reads",
        "one",
        "line",
        "after",
        "the",
        "other",
        "and",
        "keeps",
        "what",
        "it",
        "cannot",
        "place",
        "in",
        "a",
        "list",
        "of",
        "leftovers",
        "that",
        "the",
        "caller",
        "may",
        "look",
        "at",
        "when",
        "all",
        "lines",
        "are",
        "read",
        "so",
        "that",
        "nothing",
        "is",
        "lost",
        "and",
        "every",
        "mistake",
        "can",
        "be",
        "told",
        "by",
        "its",
        "line",
    ]
    copies = ([rng.choice(words[::-1]) if rng.random() < 0.05 else word for word in words] for _ in range(60))
    return "\n\n".join(" ".join(copy) for copy in copies)


LOOPS = {
    "word": " own" * 300,
    "Chinese": "这个函数返回的值。" * 100,
    "sentence": "It is not available in the `test_shipper.py` file. " * 30,
    "paragraph": (OPENING * 5 + "\n\n") * 6,
    "block of 3 KB": "".join(f"def test_{n}():\n    assert push({n}) == {n * n}\n\n" for n in range(75)) * 4,
    "numbered list": "".join(
        f"{n}. **Check the process**: inspect the process and its variables.\n" for n in range(1, 60)
    ),
    "babble": babble(1),
    "edited copies": edited(1),
    "letters": "a- a-a a " * 100,
    "one character": "!" * 600,
    "blank": " \n" * 400,
    "JSON list": '"item.py", ' * 100,
    "no-break spaces": "\u00a0" * 500,
    "emoji": "😀" * 500,
}
