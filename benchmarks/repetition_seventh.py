"""A seventh set: 36 families over 18 languages and 14 scripts, committed before the detector was run on it.

Half of it are loops where words are rare: tags, declarations, queries, instructions, formulas, edges of a graph, fixtures, each in
any order. The sentences are our own (`tests/corpus/orchard_sentences.jsonl`). `onset` is the first character of the second copy,
or of the degenerate part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.repetition_fifth_arguments import Draw, any_order, circle, grow
from benchmarks.repetition_loops import Loop
from benchmarks.repetition_sixth import Channel

SENTENCES = Path(__file__).parent.parent / "tests" / "corpus" / "orchard_sentences.jsonl"
SEED = "seventh 29"
CUT_SHARE = 0.2
OPENINGS = (
    "The retry wraps the wrong call: it repeats the parse, not the download. I move it one level out.\n\n",
    "```ts\nexport function pick<T>(rows: T[], at: number): T | undefined {\n  return at < rows.length ? rows[at] : undefined\n}\n```\n\n",
    "Three files changed. `press.py` holds the loop, `yard.py` the queue, and the test covers both with a short timeout.\n\n",
    "I have looked at the trace. The first slow span is the DNS lookup, which takes 1.8 s; everything behind it only waits. ",
    "> cargo test --lib\n\nrunning 61 tests, 60 pass. The last one compares dates as text and fails after midnight.\n\n",
)
ARGUMENTS = (
    '{"path": "src/orchard.rs", "text": "',
    '{"command": "cat > yard.txt <<EOF\\n',
    '{"file": "index.html", "patch": "',
)
SAID: dict[str, list[str]] = {
    row["script"]: row["sentences"] for row in map(json.loads, SENTENCES.read_text("utf-8").splitlines())
}
_ALL = tuple(SAID)
_SPACED = tuple(one for one in _ALL if one not in ("Thai", "Chinese", "Japanese"))
_ONCE = ("English",)
POOLS: dict[str, tuple[str, Channel, tuple[str, ...]]] = {
    "options": (
        '<option value="pear">Pear</option>~<option value="plum">Plum</option>~<option value="fig">Fig</option>~<option value="lime">Lime</option>',
        "code",
        ("", "\\n    "),
    ),
    "declarations": (
        "margin: 0 auto;~padding: 4px 8px;~color: #333;~display: flex;~border: none;",
        "code",
        (" ", "\\n  "),
    ),
    "conditions": ("and yard = 'north'~or crate is null~and ripe = true~or weight > 40", "code", (" ",)),
    "error checks": (
        "if err != nil {\n\t\treturn err\n\t}~if yard == nil {\n\t\treturn nil\n\t}~if len(rows) == 0 {\n\t\tcontinue\n\t}",
        "text",
        ("\n\t",),
    ),
    "asserts": (
        "assert yard.crates == 4~assert yard.is_open~assert not yard.wet~assert yard.name == 'north'",
        "code",
        ("\\n    ",),
    ),
    "shell": (
        "sleep 5;~curl -s localhost:8080/health;~kill -0 $PID;~tail -n 5 press.log;",
        "code",
        (" ", "\\n"),
    ),
    "YAML": (
        "- name: press\n  image: press:latest~- name: yard\n  image: yard:latest~- name: shed\n  image: shed:1.2",
        "text",
        ("\n",),
    ),
    "formulas": ("\\alpha + \\beta~\\frac{a}{b}~\\sum_{i} x_i~\\gamma^2", "text", (" = ", " \\\\\n")),
    "atoms": ("[a-z]+~\\\\s*~(foo|bar)~.*?~\\\\d{2}", "code", ("",)),
    "edges": ("Pear --> Plum~Plum --> Fig~Fig --> Pear~Fig --> Plum", "text", ("\n    ",)),
    "instructions": ("mov eax, ebx~push ecx~pop ecx~xor eax, eax~jmp .loop", "text", ("\n        ",)),
    "hunks": (
        "-    return crates\n+    return list(crates)~-    return list(crates)\n+    return crates~     yield crates",
        "text",
        ("\n",),
    ),
    "log lines": (
        "[INFO] retrying connection~[WARN] connection lost~[INFO] connection restored~[ERROR] no route to host",
        "text",
        ("\n",),
    ),
    "addresses": (
        "https://yard.example/pears~https://yard.example/plums~https://yard.example/figs",
        "text",
        ("\n", " ", ", "),
    ),
    "stubs": (
        "def press(self): pass~def rinse(self): pass~def stack(self): pass~def weigh(self): pass",
        "code",
        ("\\n    ",),
    ),
    "tags": ("#pear~#orchard~#harvest~#autumn~#sunday", "text", (" ",)),
    "notes": ("do~re~mi~fa~sol", "text", (" ", "-", ", ")),
    "bits": ("0~1", "text", (" ", "")),
    "cells": ("| pear | ripe |~| plum | green |~| fig | ripe |", "text", ("\n",)),
    "imports": (
        "import { Pear } from './pear';~import { Plum } from './plum';~import { Fig } from './fig';",
        "text",
        ("\n",),
    ),
    "hums": ("la~dum~tra la~hey ho~dee", "text", (" ", ", ", "! ")),
    "weather signs": ("☀️~🌧️~⛅~❄️", "text", ("", " ")),
}


def pooled(name: str) -> Draw:
    """Pieces of one pool, in any order."""
    pieces, _, ends = POOLS[name]

    def draw(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
        pool = pieces.split("~")
        return any_order(
            rng, rng.sample(pool, rng.randint(min(3, len(pool)), len(pool))), (rng.choice(ends),)
        )

    return draw


def any_sentence(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, rng.sample(said, rng.randint(2, 4)), (rng.choice((" ", "\n", " ... ")),))


def one_sentence(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(rng.choice(said) + rng.choice((" ", "\n", "\n\n")))


def moods(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One sentence behind another word each time."""
    moods = ("So", "Again", "Well", "Right", "Okay", "Hmm", "Alas")
    return grow((f"{rng.choice(moods)}: {said[0]} " for _ in count()), counted=True)


def mistyped(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One letter of the sentence is doubled, each time another."""

    def one() -> str:
        at = rng.randrange(len(said[1]))
        return said[1][:at] + said[1][at] + said[1][at:] + " "

    return grow((one() for _ in count()), counted=True)


def in_blocks(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Three lines in turn, their bullets drawn."""
    return grow((f"{rng.choice('-*+')} {said[n % 3]}\n" for n in count()), counted=True)


def clocked(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return grow((f"{9 + n // 60:02d}:{n % 60:02d} {said[3]}\n" for n in count()), counted=True)


def at_a_percent(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    share = rng.choice(("12.5 %", "99%", "40 %"))
    return circle(f"{said[2]} {share}. ")


def hearsay_grows(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    people = ("the pilot", "the baker", "my aunt", "a neighbour")
    return grow(f"says that {rng.choice(people)} " for _ in count())


def records(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    names = ("pear", "plum", "fig", "lime")
    return grow(f'{{"kind": "{rng.choice(names)}", "note": "{said[0]}"}}, ' for _ in count())


def languages(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    three = [SAID[one][1] for one in rng.sample(_ALL, 3)]
    return any_order(rng, three, ("\n",))


def two_slots(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Two words of three each are drawn anew for each sentence."""
    return grow(
        f"The {rng.choice(('red', 'old', 'wet'))} ladder is {rng.choice(('near', 'under', 'behind'))} the tree. "
        for _ in count()
    )


def spelled(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    word = max(said[0].split(), key=len).strip("।.,。")
    return circle("-".join(word) + "... ")


def rotated(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The words of a sentence, each time begun one later."""
    words = said[3].split()
    return grow(
        (" ".join(words[n % len(words) :] + words[: n % len(words)]) + " " for n in count()), counted=True
    )


def apologies(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    starts = ("Sorry, ", "I apologise. ", "My mistake. ", "Let me try again. ", "Apologies: ")
    return grow(rng.choice(starts) + rng.choice(said[:2]) + " " for _ in count())


def commented(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A comment of four, and the same line under each."""
    return grow(f"    # {rng.choice(said)}\n    yard.sort()\n" for _ in count())


def titled(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    heads = ("## Summary", "## Result", "## Conclusion", "## Answer")
    return grow(f"{rng.choice(heads)}\n\n{said[0]}\n\n" for _ in count())


_DRAWN: dict[str, tuple[Draw, Channel, tuple[str, ...]]] = {
    "any sentence": (any_sentence, "text", _ALL),
    "one sentence": (one_sentence, "reasoning", _ALL),
    "moods": (moods, "reasoning", _ALL[::2]),
    "mistyped": (mistyped, "text", _ALL[1::2]),
    "in blocks": (in_blocks, "text", _ALL[::2]),
    "clocked": (clocked, "text", _ALL[1::2]),
    "at a percent": (at_a_percent, "text", _ALL[::2]),
    "hearsay grows": (hearsay_grows, "text", _ONCE * 3),
    "records": (records, "code", _ALL[1::2]),
    "languages": (languages, "text", _ONCE * 5),
    "two slots": (two_slots, "text", _ONCE * 5),
    "spelled": (spelled, "text", _SPACED[::3]),
    "rotated": (rotated, "text", _SPACED[::2]),
    "apologies": (apologies, "reasoning", _ALL[::3]),
    "commented": (commented, "text", _ALL[1::3]),
    "titled": (titled, "text", _ALL[::3]),
}
FAMILIES = _DRAWN | {name: (pooled(name), row[1], _ONCE * 5) for name, row in POOLS.items()}


def seventh(seed: str = SEED) -> Iterator[Loop]:
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
