"""An eighth set, small and blind: twelve families of five loops, and ten kinds of twenty sound texts beside them.

Committed before version 10 of the detector was made, as the check of that version. The families are those of forms that no set
has: games, tunes, plays, tables of a typesetter, build rules, history of a repository. `onset` is the first
character of the second copy, or of the degenerate part.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count

from benchmarks.repetition_fifth_arguments import any_order, circle, grow
from benchmarks.repetition_fifth_words import NAMES, WORDS, lines
from benchmarks.repetition_loops import Loop
from benchmarks.repetition_machine import Found
from benchmarks.repetition_seventh import OPENINGS, SAID

SEED = "eighth 5"
LANGUAGES = ("English", "Ukrainian", "Chinese", "Hindi", "Arabic")
PER_KIND = 20
Draw = Callable[[random.Random, list[str]], tuple[str, int]]
Make = Callable[[random.Random], str]
_WORDS = WORDS["English"]


def play(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Two people on a stage have two lines each."""
    return any_order(
        rng, [f"{who}: {line}" for who, line in zip(("ANNA", "BEN") * 2, said, strict=False)], ("\n",)
    )


def shuttle(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """The same four moves of a game for ever."""
    moves = rng.choice((("Nf3 Nf6", "Ng1 Ng8"), ("Rd1 Rd8", "Re1 Re8"), ("Kh1 Kh8", "Kg1 Kg8")))
    return grow((f"{n + 1}. {moves[n % 2]} " for n in count()), counted=True)


def tune(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Three bars of a tune in any order."""
    return any_order(rng, rng.sample(["G2 AB", "c2 BA", "d3 e", "A4", "B2 GE"], 3), (" | ",))


def history(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """One subject under a new hash each time."""
    subject = rng.choice(
        ("Fix the typo in the readme", "Merge branch 'main' into work", "Update the lock file")
    )
    return grow((f"{rng.getrandbits(28):07x} {subject}\n" for _ in count()), counted=True)


def typeset(rng: random.Random, said: list[str]) -> tuple[str, int]:
    rows = ("plum & ripe & 4 \\\\", "pear & green & 2 \\\\", "fig & ripe & 7 \\\\", "\\hline")
    return any_order(rng, rng.sample(rows, 3), ("\n",))


def rules(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """The same build rules again and again."""
    pool = [f"{name}: {name}.o\n\t$(CC) -o $@ $^\n" for name in rng.sample(_WORDS, 3)]
    return any_order(rng, pool, ("\n",))


def mantra(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """One sentence, and other signs behind it each time."""
    ends = ("!", "!!", "...", "?!", ".", " -- ", "…")
    return grow((said[0].rstrip(".。।") + rng.choice(ends) + " " for _ in count()), counted=True)


def stretched(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """A word drawn out by a random number of letters."""
    word = rng.choice(("so", "oh", "ah", "we"))
    return grow((word + word[-1] * rng.randint(0, 6) + " good, " for _ in count()), counted=True)


def letter(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """The end of a letter, signed over and over."""
    return circle(f"{said[0]}\n\n{said[1]}\n{rng.choice(NAMES).title()}\n\n")


def opcodes(rng: random.Random, said: list[str]) -> tuple[str, int]:
    pool = ("mov eax, ebx", "push ebp", "pop ebp", "xor eax, eax", "nop", "call init")
    return any_order(rng, [f"    {one}" for one in rng.sample(pool, 4)], ("\n",))


def courtesy(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Two who thank each other, by name."""
    a, b = (name.title() for name in rng.sample(NAMES, 2))
    return any_order(
        rng,
        [f"Thank you, {a}!", f"No, thank you, {b}!", f"You are too kind, {a}.", f"Not at all, {b}."],
        (" ", "\n"),
    )


def rows(rng: random.Random, said: list[str]) -> tuple[str, int]:
    """Three rows of a table in any order."""
    return any_order(
        rng, [f"{n},{rng.choice(_WORDS)},{rng.choice(NAMES)},open" for n in (12, 37, 58)], ("\n",)
    )


FAMILIES: dict[str, Draw] = {
    one.__name__: one
    for one in (
        play,
        shuttle,
        tune,
        history,
        typeset,
        rules,
        mantra,
        stretched,
        letter,
        opcodes,
        courtesy,
        rows,
    )
}


def eighth(seed: str = SEED, families: dict[str, Draw] | None = None) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit. `families`: those of another set."""
    for family, draw in (families or FAMILIES).items():
        for number, language in enumerate(LANGUAGES):
            rng = random.Random(f"{seed}/{family}/{number}")
            before = "".join(rng.sample(OPENINGS, 2))
            text, onset = draw(rng, SAID[language])
            cut = number == 4
            if cut:
                text = text[: max(1600, 4 * onset)]
            yield Loop(
                f"{family}/{number}",
                family,
                language,
                before + text,
                len(before) + onset,
                "text",
                "length" if cut else None,
            )


def _some(rng: random.Random, number: int) -> str:
    return " ".join(rng.sample(_WORDS, number))


def _dialogue(rng: random.Random) -> str:
    return lines(
        rng, lambda n: f"{('ANNA', 'BEN')[n % 2]}: {_some(rng, 3)}, {rng.choice(NAMES)}, {_some(rng, 4)}.\n"
    )


def _move(rng: random.Random) -> str:
    return rng.choice("NBRQK") + rng.choice("abcdefgh") + rng.choice("12345678")


def _game(rng: random.Random) -> str:
    return lines(rng, lambda n: f"{n}. {_move(rng)} {_move(rng)} ")


def _abc(rng: random.Random) -> str:
    return lines(
        rng, lambda n: " ".join(rng.choice("ABcdefG") + rng.choice(("", "2", "/2")) for _ in range(4)) + " | "
    )


def _log(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{rng.getrandbits(28):07x} {rng.choice(('Fix', 'Add', 'Move', 'Test'))} the {_some(rng, 3)}\n"
        ),
    )


def _latex(rng: random.Random) -> str:
    return lines(rng, lambda n: f"{_some(rng, 1)} & {_some(rng, 1)} & {rng.randint(1, 900)} \\\\\n")


def _make(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: f"{_some(rng, 1)}_{n}: {_some(rng, 1)}.o {_some(rng, 1)}.o\n\t$(CC) -o $@ $^\n\n",
        8,
        20,
    )


def _assembly(rng: random.Random) -> str:
    registers = ("eax", "ebx", "ecx", "edx", "esi", "edi")
    names = ("mov", "add", "sub", "cmp", "xor", "lea", "and", "shl")
    return lines(
        rng, lambda n: f"    {rng.choice(names)} {rng.choice(registers)}, [ebp-{4 * rng.randint(1, 40):#x}]\n"
    )


def _csv(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{n},{_some(rng, 1)},{rng.choice(NAMES)},{rng.choice(('open', 'closed'))},{rng.randint(1, 99)}\n"
        ),
    )


def _questions(rng: random.Random) -> str:
    return lines(
        rng, lambda n: f"**Can I use the {_some(rng, 2)}?** Yes, but mind the {_some(rng, 4)}.\n\n", 8, 20
    )


def _greetings(rng: random.Random) -> str:
    return lines(
        rng, lambda n: f"Dear {rng.choice(NAMES).title()}, thank you for the {_some(rng, 3)}. ", 6, 18
    )


SOUND: dict[str, Make] = {
    one.__name__[1:]: one
    for one in (_dialogue, _game, _abc, _log, _latex, _make, _assembly, _csv, _questions, _greetings)
}


def drawn(seed: str, kinds: dict[str, Make] | None = None) -> Iterator[Found]:
    for kind, make in (kinds or SOUND).items():
        for number in range(PER_KIND):
            yield Found(kind, f"{kind}/{number}", make(random.Random(f"{seed}/{kind}/{number}")))
