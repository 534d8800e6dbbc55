"""Sound texts beside the fifth set: drawn in many scripts, written by hand, and files of kinds that are new.

    python benchmarks/repetition_fifth_sound.py FOLDER      # fetches the files, some 40 MB

Lists, tables, logs, tests, drawings, encoded bytes, small code and poems with refrains. Each says something new in
every line or verse, or comes to an end by itself where its form says so (a song in which every verse adds one line).
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_fifth import SAID
from benchmarks.repetition_fifth_plain import PLAIN
from benchmarks.repetition_fifth_words import NAMES, WORDS, lines
from benchmarks.repetition_fourth_sound import fetch, packaged
from benchmarks.repetition_machine import Found

PER_KIND = 20
PACKAGES = (
    ("npm", "d3@7.9.0", "js"),
    ("npm", "simple-icons@15.0.0", "svg"),
    ("npm", "i18n-iso-countries@7.14.0", "json"),
    ("npm", "moment@2.30.1", "js"),
    ("npm", "prismjs@1.30.0", "js css"),
    ("npm", "emojibase-data@16.0.3", "json"),
    ("npm", "katex@0.16.22", "js css md"),
    ("npm", "three@0.178.0", "js"),
    ("npm", "hyphen@1.10.6", "js"),
)
SCRIPTS = tuple(WORDS)
CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
NAMED = {"Cyrillic": "Russian", "Devanagari": "Hindi"}


def _real() -> dict[str, list[str]]:
    """Sentences by the first of a script's words, of this set and of three before."""
    said = {script: list(sentences) for script, sentences in SAID.items()}
    for name in ("agent_sentences", "harbour_sentences", "scripts"):
        for row in map(json.loads, (CORPUS / f"{name}.jsonl").read_text("utf-8").splitlines()):
            parts = row.get("sentences") or [*row["tuning"], *row["validation"]]
            said.setdefault(NAMED.get(row["script"], row["script"]), []).extend(parts)
    return {words[0]: said[script] for script, words in WORDS.items()}


REAL = _real()
Make = Callable[[random.Random, list[str]], str]


def numbered_list(rng: random.Random, words: list[str]) -> str:
    return lines(rng, lambda n: f"{n}. {' '.join(rng.sample(words, rng.randint(2, 6)))}\n")


def pairs(rng: random.Random, words: list[str]) -> str:
    return lines(rng, lambda n: f"- **{rng.choice(words)}**: {' '.join(rng.sample(words, 3))}\n")


def table(rng: random.Random, words: list[str]) -> str:
    head = f"| {words[0]} | {words[1]} | {words[2]} |\n|---|---|---|\n"
    return head + lines(
        rng, lambda n: f"| {rng.choice(words)} | {rng.randint(1, 900)} | {rng.choice(words)} |\n"
    )


def check_marks(rng: random.Random, words: list[str]) -> str:
    return lines(rng, lambda n: f"{rng.choice('✅✅✅❌⚠️')} {' '.join(rng.sample(words, 3))}\n", 10, 30)


def prose(rng: random.Random, words: list[str]) -> str:
    """Real sentences of the script, each once."""
    said = REAL[words[0]]
    return " ".join(rng.sample(said, min(len(said), rng.randint(10, 30))))


def poem(rng: random.Random, words: list[str]) -> str:
    """Verses of four new lines, one refrain of one line."""
    said = rng.sample(REAL[words[0]], len(REAL[words[0]]))
    verses = ("\n".join(said[at : at + 4]) for at in range(1, len(said) - 3, 4))
    return "".join(f"{verse}\n{said[0]}\n\n" for verse in verses)


def pantoum(rng: random.Random, words: list[str]) -> str:
    """Lines two and four of a verse are lines one and three of the next one."""
    said = rng.sample(REAL[words[0]], 10)
    out, (second, fourth) = [said[0], said[1], said[2], said[3], ""], (said[1], said[3])
    for at in range(4, 10, 2):
        out += [second, said[at], fourth, said[at + 1], ""]
        second, fourth = said[at], said[at + 1]
    return "\n".join(out)


def dialogue(rng: random.Random, words: list[str]) -> str:
    said = rng.sample(REAL[words[0]], 10)
    return lines(rng, lambda n: f"{words[n % 2]}: {rng.choice('?!…')} {said[n - 1]}\n", 6, 10)


def key_values(rng: random.Random, words: list[str]) -> str:
    rows = [
        f'  "{rng.choice(NAMES)}.{rng.choice(NAMES)}.{n}": "{" ".join(rng.sample(words, 3))}"'
        for n in range(40)
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def dated_log(rng: random.Random, words: list[str]) -> str:
    return lines(
        rng,
        lambda n: (
            f"2026-11-22T{8 + n // 60:02d}:{n % 60:02d}:{rng.randint(0, 59):02d}Z INFO {rng.choice(NAMES)} {' '.join(rng.sample(words, 2))} {rng.randint(1, 900)} ms\n"
        ),
        30,
        90,
    )


def flash_cards(rng: random.Random, words: list[str]) -> str:
    order = rng.sample(range(25), 25)
    other = WORDS[rng.choice(SCRIPTS)]
    return "".join(f"{words[at]} = {other[at]} = {WORDS['English'][at]}\n" for at in order)


def sentences(rng: random.Random, words: list[str]) -> str:
    """Each sentence of every language once, in one order or another."""
    every = [one for said in SAID.values() for one in said]
    return "\n".join(rng.sample(every, 40))


SCRIPTED: dict[str, tuple[Make, str]] = {
    "numbered": (numbered_list, "list"),
    "pairs": (pairs, "list"),
    "table": (table, "table"),
    "check marks": (check_marks, "list"),
    "prose": (prose, "prose"),
    "poem": (poem, "verse"),
    "pantoum": (pantoum, "verse"),
    "dialogue": (dialogue, "prose"),
    "catalogue": (key_values, "data"),
    "dated log": (dated_log, "log"),
    "cards": (flash_cards, "list"),
    "sentences": (sentences, "prose"),
}


def drawn(seed: str) -> Iterator[Found]:
    """Every drawn text, in a stable order: five of each kind and script, `PER_KIND` of what has no script."""
    for kind, (make, group) in SCRIPTED.items():
        for script in SCRIPTS:
            if script == "Emoji" and group in ("prose", "verse"):
                continue
            for number in range(PER_KIND // 4):
                rng = random.Random(f"{seed}/{kind}/{script}/{number}")
                yield Found(group, f"{kind}/{script}/{number}", make(rng, WORDS[script]))
    for kind, (plain, group) in PLAIN.items():
        for number in range(PER_KIND):
            yield Found(group, f"{kind}/{number}", plain(random.Random(f"{seed}/{kind}/{number}")))


def files(folder: Path | None) -> Iterator[Found]:
    yield from packaged(folder, PACKAGES)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]), PACKAGES)
