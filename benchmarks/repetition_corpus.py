"""The labelled corpus of the repetition benchmark: sound files and synthetic collapses of known onset.

Everything here is fixed by seeds and file names and knows nothing of the detector. Two splits, `tuning` and
`validation`, share neither files nor seeds: a file belongs to a split by the hash of its package (a folder of the
standard library, an installed distribution, a folder of /usr/share), so that siblings never fall apart.

Labels: `onset` is the first character of the second copy of whatever repeats; where nothing repeats exactly in
order (random vocabulary, sentence pools, templates) it is the first character of the collapsed part.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_text import Sound, Split, sound

SEEDS: dict[Split, int] = {"tuning": 20_101, "validation": 77_003}
PER_FAMILY = 30
COLLAPSE_CHARS = 24_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A collapse of known onset, in characters of `text`; `period` where the copies are exact."""

    name: str
    family: str
    text: str
    onset: int
    period: int | None
    channel: Literal["text", "reasoning", "code"] = "text"


# --- material for collapses ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Material:
    """What collapses are made of: real sentences, paragraphs, code and openings of one split's files."""

    sentences: list[str]
    paragraphs: list[str]
    code: list[str]
    openings: list[str]


SENTENCE = re.compile(r"(?<=[.!?] )[A-Z][A-Za-z ,;'’-]{40,140}[.!?](?= )")
PARAGRAPH = re.compile(r"(?:^|\n\n)([A-Z][^\n]{30,}(?:\n[^\n]{20,}){3,14})(?=\n\n)")


def material(files: list[Sound]) -> Material:
    prose = [" ".join(f.text.split()) for f in files if f.kind == "prose" and len(f.text) > 2000]
    sentences = sorted({s for text in prose for s in SENTENCE.findall(text[:60_000])})
    paragraphs = [p for f in files if f.kind == "prose" for p in PARAGRAPH.findall(f.text[:60_000])]
    code = [f.text for f in files if f.name.endswith(".py") and len(f.text) > 8000]
    openings = [f.text for f in files if f.kind in ("prose", "code") and len(f.text) > 5000]
    return Material(sentences, sorted({p for p in paragraphs if 400 <= len(p) <= 1300}), code, openings)


# --- families ------------------------------------------------------------------------------------------------

Family = Callable[[random.Random, Material], tuple[str, int]]
"""Returns (collapsed part, onset within it)."""

WORDS = ("own", "the", "error", "test", "and", "yes", "function", "items", "nothing", "really", "wait", "la")
NOISES = (
    "(Sigh)",
    "(Laughter)",
    "(Pause)",
    "(Cough)",
    "*sighs*",
    "[music]",
    "Ha",
    "Hmm",
    "Oh",
    "okay",
    "no",
    "um",
)


def _cycle(unit: str) -> tuple[str, int]:
    return (unit * (COLLAPSE_CHARS // len(unit) + 2))[:COLLAPSE_CHARS], len(unit)


def _stream(draw: Callable[[], str]) -> str:
    out, size = [], 0
    while size < COLLAPSE_CHARS:
        out.append(draw())
        size += len(out[-1])
    return "".join(out)[:COLLAPSE_CHARS]


def word(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(" " + rng.choice(WORDS))


def phrase(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(" ".join(rng.sample(NOISES, rng.randint(2, 4))) + " ")


def cjk_phrase(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(
        "".join(rng.sample("私は今考えています问题在于这个函数返回的值그래서다시", rng.randint(3, 12)))
    )


def random_vocabulary(rng: random.Random, made_of: Material) -> tuple[str, int]:
    pool = rng.sample(NOISES, rng.randint(2, 5))
    return _stream(lambda: rng.choice(pool) + " "), 0


def salad(rng: random.Random, made_of: Material) -> tuple[str, int]:
    letters = rng.sample("abcdeiosxyz", rng.randint(1, 3))
    return _stream(lambda: rng.choice(letters) + rng.choice(("- ", "-", " ", " ", ", "))), 0


def sentence(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(rng.choice(made_of.sentences) + rng.choice((" ", "\n", "\n\n")))


def paragraph(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(rng.choice(made_of.paragraphs) + "\n\n")


def _code_block(rng: random.Random, made_of: Material, low: int, high: int) -> str:
    lines = rng.choice(made_of.code).splitlines()
    size = rng.randint(low, high)
    start = rng.randrange(max(1, len(lines) - size))
    return "\n".join(lines[start : start + size]) + "\n\n"


def code_block(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(_code_block(rng, made_of, 20, 95))


def long_block(rng: random.Random, made_of: Material) -> tuple[str, int]:
    unit = ""
    while len(unit) < 2500:
        unit += rng.choice(made_of.paragraphs) + "\n\n"
    return _cycle(unit[:4500])


def counter(rng: random.Random, made_of: Material) -> tuple[str, int]:
    before, after = rng.choice(("Turn ", "Attempt ", "Option ", "")), rng.choice((": ", ". ", " - "))
    body, end, first = rng.choice(made_of.sentences), rng.choice(("\n", "\n\n", " ")), rng.randint(1, 90)
    numbers = iter(range(first, 10**6))
    text = _stream(lambda: f"{before}{next(numbers)}{after}{body}{end}")
    return text, len(f"{before}{first}{after}{body}{end}")


def connectives(rng: random.Random, made_of: Material) -> tuple[str, int]:
    heads = ("Running:", "Executing:", "Let me run this:", "Now I run:", "Trying again:", "Next:")
    body = rng.choice(made_of.sentences)
    fence = f"```bash\n{rng.choice(('pytest -q', 'ls -la src', 'git status', 'make test'))}\n```\n"
    first = f"{heads[0]}\n{fence}{body}\n\n"
    return first + _stream(lambda: f"{rng.choice(heads)}\n{fence}{body}\n\n"), len(first)


def _edited(rng: random.Random, words: list[str], share: float, pool: list[str]) -> str:
    return " ".join(rng.choice(pool) if rng.random() < share else word for word in words) + "\n\n"


def _near(rng: random.Random, made_of: Material, share: float) -> tuple[str, int]:
    words = rng.choice(made_of.paragraphs).split()
    pool = " ".join(rng.sample(made_of.sentences, 60)).split()
    first = " ".join(words) + "\n\n"
    return first + _stream(lambda: _edited(rng, words, share, pool)), len(first)


def near_5(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _near(rng, made_of, 0.05)


def near_15(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _near(rng, made_of, 0.15)


def sentence_pool(rng: random.Random, made_of: Material) -> tuple[str, int]:
    pool = rng.sample(made_of.sentences, 12)
    return _stream(lambda: rng.choice(pool) + " "), 0


def templates(rng: random.Random, made_of: Material) -> tuple[str, int]:
    starts = ("Wait, ", "Let me think again. ", "Actually, ", "Hmm, ", "So ", "But then ", "Alternatively, ")
    subjects = ("the function", "the test", "the parser", "this value", "the second argument")
    verbs = (
        "returns the wrong value",
        "should be checked again",
        "is not what I expected",
        "depends on the state",
        "may be empty here",
    )
    ends = (
        ". ",
        ", so I need to look at it again. ",
        ", which means I should verify it. ",
        ", but that is not right. ",
        ".\n\n",
    )
    return _stream(
        lambda: rng.choice(starts) + rng.choice(subjects) + " " + rng.choice(verbs) + rng.choice(ends)
    ), 0


def character(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(rng.choice("aAxz!?.-=_*#é的😀0"))


def whitespace(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(rng.choice((" ", "\n", "\t", "\u00a0", " \n", "\n\n  ", "\r\n")))


def json_objects(rng: random.Random, made_of: Material) -> tuple[str, int]:
    row = {
        rng.choice(("name", "path", "id")): rng.choice(WORDS),
        "value": rng.randint(0, 99),
        "ok": rng.random() < 0.5,
    }
    return _cycle(json.dumps(row) + rng.choice((", ", ",\n  ", ",")))


def json_list(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(json.dumps(rng.choice(WORDS) + rng.choice(("", "_1", ".py"))) + rng.choice((", ", ",")))


def escaped_newlines(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(rng.choice(("\\n", "\\n\\n    ", "\\t", "\\u00a0", "\\n# \\n")))


def escaped_block(rng: random.Random, made_of: Material) -> tuple[str, int]:
    return _cycle(json.dumps(_code_block(rng, made_of, 5, 30))[1:-1])


def elif_chain(rng: random.Random, made_of: Material) -> tuple[str, int]:
    names = iter(
        rng.sample([w.strip(".,;").lower() for s in made_of.sentences[:4000] for w in s.split()], 2000)
    )
    first = f'    if name == "{next(names)}":\n        return {rng.randint(0, 99)}\n'
    text = _stream(lambda: f'    elif name == "{next(names)}":\n        return {rng.randint(0, 99)}\n')
    return first + text, len(first)


SEPARABLE: dict[str, tuple[Family, Literal["text", "reasoning", "code"]]] = {
    "word": (word, "text"),
    "phrase": (phrase, "text"),
    "CJK phrase": (cjk_phrase, "text"),
    "random vocabulary": (random_vocabulary, "text"),
    "salad of letters": (salad, "text"),
    "sentence": (sentence, "reasoning"),
    "paragraph": (paragraph, "text"),
    "code block": (code_block, "text"),
    "long block": (long_block, "text"),
    "counter": (counter, "reasoning"),
    "connectives": (connectives, "text"),
    "near-copies, 5 % edited": (near_5, "text"),
    "sentence pool": (sentence_pool, "reasoning"),
    "templates": (templates, "reasoning"),
    "one character": (character, "text"),
    "whitespace": (whitespace, "text"),
    "JSON objects": (json_objects, "code"),
    "JSON list": (json_list, "code"),
    "escaped newlines": (escaped_newlines, "code"),
    "escaped code block": (escaped_block, "code"),
}
"""Families that text alone can tell from sound output; `code` samples arrive as tool arguments."""

BLIND: dict[str, tuple[Family, Literal["text", "reasoning", "code"]]] = {
    "near-copies, 15 % edited": (near_15, "text"),
    "elif chain": (elif_chain, "code"),
}
"""Families that the literature of this project calls inseparable; measured, not part of the goal."""


def collapses(split: Split, made_of: Material, per_family: int = PER_FAMILY) -> Iterator[Sample]:
    """Yield every family's samples: 300 to 4,000 characters of a real file, then the collapse."""
    for family, (generate, channel) in {**SEPARABLE, **BLIND}.items():
        for number in range(per_family):
            rng = random.Random(f"{SEEDS[split]}/{family}/{number}")
            opening = rng.choice(made_of.openings)
            cut = rng.randint(300, 4000)
            start = rng.randrange(max(1, len(opening) - cut))
            before = opening[start : start + cut]
            part, onset = generate(rng, made_of)
            exact = part[: len(part) - onset] == part[onset:] if onset else False
            yield Sample(
                f"{family}/{number}",
                family,
                before + part,
                len(before) + onset,
                onset if exact else None,
                channel,
            )


def main() -> None:
    """Print what a split holds."""
    for split in ("tuning", "validation"):
        files = list(sound(split))
        made_of = material(files)
        size = sum(len(f.text) for f in files)
        kinds = {kind: sum(f.kind == kind for f in files) for kind in ("prose", "code", "data")}
        print(
            split, len(files), f"{size / 1e6:.1f} MB", kinds, len(made_of.sentences), len(made_of.paragraphs)
        )
        print(" ", sum(1 for _ in collapses(split, made_of)), "collapses", file=sys.stdout)


if __name__ == "__main__":
    main()
