"""A sixth set, small: other families, languages and ways of writing than the five before, committed before it was run.

Loops: excuses that swell, thesauri, circles of definitions, plans, boxes that are ticked and cleared again, class
names, joins, voices in a chat, Morse, Braille, letters of other planes. The sentences of eleven languages are our own
(`tests/corpus/workshop_sentences.jsonl`). `onset` is the first character of the second copy, or of the degenerate part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from benchmarks.repetition_fifth_arguments import Draw, any_order, circle, grow
from benchmarks.repetition_loops import Loop

SENTENCES = Path(__file__).parent.parent / "tests" / "corpus" / "workshop_sentences.jsonl"
SEED = "sixth 7"
CUT_SHARE = 0.2
OPENINGS = (
    "The valve test passes on my side. The one that fails needs the fixture of the other folder, so I copy it first.\n\n",
    "Two of the five warnings are real: an unused import in `jig.py`, and a file that is opened and never closed. ",
    "```go\nfunc Load(name string) ([]Row, error) {\n\tf, err := os.Open(name)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tdefer f.Close()\n\treturn parse(f)\n}\n```\n\n",
    "| step | result |\n|---|---|\n| build | ok, 41 s |\n| unit tests | 2 of 318 fail |\n\nBoth failures come from one date. ",
    "I would rather not touch the cache here. The key lacks the locale, and that alone explains what you saw.\n\n",
)
ARGUMENTS = (
    '{"path": "web/bench.html", "content": "<main id=bench>',
    '{"command": "sqlite3 shop.db \\"select * from tools t ',
    '{"new_text": "def sharpen(blade):\\n    ',
)


def _mapped(sentence: str, capital: int, small: int) -> str:
    """ASCII letters moved to another plane."""
    moved = {ord("A") + n: capital + n for n in range(26)} | {ord("a") + n: small + n for n in range(26)}
    return sentence.translate(moved)


BRAILLE = dict(zip("abcdefghijklmnopqrstuvwxyz", "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", strict=True))
SAID: dict[str, list[str]] = {
    row["script"]: row["sentences"] for row in map(json.loads, SENTENCES.read_text("utf-8").splitlines())
}
SAID["Braille"] = ["".join(BRAILLE.get(c, c) for c in one.lower()) for one in SAID["English"]]
SAID["Full width"] = [_mapped(one, 0xFF21, 0xFF41) for one in SAID["English"]]
SAID["Bold letters"] = [_mapped(one, 0x1D400, 0x1D41A) for one in SAID["English"]]
_ALL = tuple(SAID)
_PLAIN = ("English",) * 5


def swelling(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """I am sorry. I am so sorry. I am so so sorry. … up to nine, and anew."""
    front, back = rng.choice((("I am", "sorry"), ("It is", "late"), ("Es tut mir", "leid")))
    return grow((f"{front}{' so' * (n % 10)} {back}. " for n in count()), counted=True)


def thesaurus(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = "big large huge enormous vast great immense giant massive bulky".split()
    return any_order(rng, rng.sample(words, rng.randint(5, 10)), (", ",))


def definitions(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Each thing is another one of five."""
    things = rng.sample(["a jig", "a vice", "a clamp", "a bench", "a frame", "a stand"], 5)
    return grow("{} is {}. ".format(*rng.sample(things, 2)).capitalize() for _ in count())


def answered(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One question, answered this way and that."""
    question = said[0].rstrip("।.") + "? "
    return grow(
        (question + rng.choice(("Yes. ", "No. ", "Perhaps. ", "Hm. ")) for _ in count()), counted=True
    )


def roll_call(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    names = rng.sample("Ada Bela Cem Dov Eyo Fay Gus Hana Ido Jun Kai".split(), rng.randint(5, 9))
    return any_order(rng, names, (" and ", ", ", " and then "))


def hearsay(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, ("he", "she", "they", "the man", "her friend"), (" said that ", " thinks that "))


def plans(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    starts = ("First, ", "Then, ", "After that, ", "Finally, ")
    deeds = rng.sample(
        ["run the tests", "read the log", "open the file", "fix the import", "check the path"], 4
    )
    return grow(f"{rng.choice(starts)}I will {rng.choice(deeds)}. " for _ in count())


def ticked(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Boxes of three items, ticked and cleared again."""
    return grow(f"- [{rng.choice(' x')}] {rng.choice(said[:3])}\n" for _ in count())


def edit_and_back(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    lines = ["blade = sharpen(blade)", "blade = polish(blade)", "return blade"]
    return grow(f"{rng.choice('+- ')}    {rng.choice(lines)}\n" for _ in count())


def couplets(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Two lines in turn; a name of five stands before the second."""
    names = "Ada Bela Cem Dov Eyo".split()
    return grow((f"{said[0]}\n{rng.choice(names)}: {said[1]}\n\n" for _ in count()), counted=True)


def joins(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    tables = rng.sample(["saws", "jigs", "files", "vices"], 3)
    return grow(f"left join {name} on {name}.id = t.id " for name in (rng.choice(tables) for _ in count()))


def class_names(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pool = "mt-4 mb-4 px-2 py-2 flex items-center gap-2 rounded".split()
    return any_order(rng, rng.sample(pool, rng.randint(3, 8)), (" ",))


def list_items(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, [f"<li>{one}</li>" for one in said[:3]], ("", "\\n"))


def statuses(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    rows = ("bench,open,ok\\n", "bench,shut,ok\\n", "bench,open,late\\n")
    return any_order(rng, rows, ("",))


def fillers(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pools = (
        "um uh er ah hmm",
        "euh ben bah hein bof",
        "ええと あの なんか まあ その",
        "ну э эм вот типа",
        "ehm nun tja also äh",
    )
    return any_order(rng, rng.choice(pools).split(), (", ", "... ", " "))


def letter_cases(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = said[0].split()
    turns = (str.upper, str.lower, str.title)
    return grow(" ".join(rng.choice(turns)(word) for word in words) + " " for _ in count())


def morse(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, ("...", "---", ".-", "-.", "--."), (" ", " / "))


def two_hands(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One sentence in two ways of writing."""
    return any_order(rng, (SAID["English"][0], SAID["Bold letters"][0], SAID["Full width"][0]), (" ", "\n"))


def stuck(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = ("still", "yet again", "once more", "as before")
    return grow(f"Progress is {rng.choice(words)} at 99%, waiting {rng.choice(words)}. " for _ in count())


def chat(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    names, words = ("Ann", "Bob", "Cy"), ("ok", "yes", "fine", "ok ok")
    return grow(f"<{rng.choice(names)}> {rng.choice(words)}\n" for _ in count())


def fading_word(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """hammer hamme hamm ham ha h, and anew."""
    word = max(said[0].split(), key=len)
    return circle(" ".join(word[:size] for size in range(len(word), 0, -1)) + " ")


def any_sentence(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, said, (" ", "\n", " — "))


def one_sentence(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(rng.choice(said) + " ")


def swapped_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A sentence in which two words change places each time."""
    words = said[1].split()

    def one() -> str:
        a, b = rng.sample(range(len(words)), 2)
        moved = list(words)
        moved[a], moved[b] = moved[b], moved[a]
        return " ".join(moved) + " "

    return grow((one() for _ in count()), counted=True)


Channel = Literal["text", "reasoning", "code"]
FAMILIES: dict[str, tuple[Draw, Channel, tuple[str, ...]]] = {
    "swelling": (swelling, "text", _PLAIN[:3]),
    "thesaurus": (thesaurus, "text", _PLAIN),
    "definitions": (definitions, "reasoning", _PLAIN),
    "answered": (answered, "reasoning", _ALL[::2]),
    "roll call": (roll_call, "text", _PLAIN),
    "hearsay": (hearsay, "text", _PLAIN[:3]),
    "plans": (plans, "reasoning", _PLAIN),
    "ticked": (ticked, "text", _ALL[1::2]),
    "edit and back": (edit_and_back, "text", _PLAIN[:3]),
    "couplets": (couplets, "text", _ALL[::2]),
    "joins": (joins, "code", _PLAIN[:4]),
    "class names": (class_names, "code", _PLAIN),
    "list items": (list_items, "code", _ALL[1::2]),
    "statuses": (statuses, "code", _PLAIN[:3]),
    "fillers": (fillers, "text", _PLAIN),
    "letter cases": (letter_cases, "text", _ALL[:8:2]),
    "Morse": (morse, "text", _PLAIN[:3]),
    "two hands": (two_hands, "text", _PLAIN[:3]),
    "stuck": (stuck, "text", _PLAIN[:4]),
    "chat": (chat, "text", _PLAIN[:3]),
    "fading word": (fading_word, "text", _ALL[:8:2]),
    "any sentence": (any_sentence, "text", _ALL),
    "one sentence": (one_sentence, "reasoning", _ALL),
    "swapped words": (swapped_words, "text", _ALL[1::2]),
}


def sixth(seed: str = SEED) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit."""
    for family, (draw, channel, kinds) in FAMILIES.items():
        for number, script in enumerate(kinds):
            rng = random.Random(f"{seed}/{family}/{script}/{number}")
            some = rng.sample(OPENINGS, rng.randint(1, 3))
            before = rng.choice(ARGUMENTS) if channel == "code" else "".join(some)
            looped, onset = draw(rng, SAID[script], " ")
            cut = rng.random() < CUT_SHARE
            if cut:
                looped = looped[: max(rng.randint(1000, 2400), 4 * onset)]
            name, reason = f"{family}/{script}/{number}", "length" if cut else None
            yield Loop(name, family, script, before + looped, len(before) + onset, channel, reason)
