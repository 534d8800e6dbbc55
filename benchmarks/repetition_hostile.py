"""Texts made to be slow for a detector of repetition: periodic, nearly periodic, self-similar, without an end."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate, repeat

SIZE = 400_000


def fibonacci() -> str:
    a, b = "b", "ba"
    while len(b) < SIZE:
        a, b = b, b + a
    return b


def de_bruijn(letters: str = "abcdefgh", order: int = 6) -> str:
    """Every word of `order` letters once (Lyndon words in order; Fredricksen and Maiorana 1978)."""
    word, out = [-1], []
    while word:
        word[-1] += 1
        if order % len(word) == 0:
            out += word
        size = len(word)
        while len(word) < order:
            word.append(word[-size])
        while word and word[-1] == len(letters) - 1:
            word.pop()
    return "".join(letters[i] for i in out)


def broken(period: int, copies: float) -> str:
    """A cycle that is broken just before it would count, again and again."""
    rng = random.Random(period)
    letters = "abcdefghijklmnopqrstuvwxyz     "
    out, size = [], 0
    while size < SIZE:
        unit = "".join(rng.choices(letters, k=period))
        out.append((unit * 9)[: int(copies * period)])
        size += len(out[-1])
    return "".join(out)


def near_copies(share: float) -> str:
    """Copies with changed words that all fall into the same places: looked for again and again."""
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(120)]
    slots = rng.sample(range(120), int(share * 120))
    out = []
    for number in range(SIZE // 840):
        for slot in slots:
            words[slot] = f"w{'abcdefghij'[number % 10]}{chr(97 + number // 10 % 26)}{slot}"
        out.append(" ".join(words))
    return "\n".join(out)


HOSTILE: dict[str, Callable[[], str]] = {
    "Fibonacci word": fibonacci,
    "Thue-Morse": lambda: "".join("ab"[n.bit_count() % 2] for n in range(SIZE)),
    "de Bruijn": de_bruijn,
    "periods that grow": lambda: "".join(("x" * n + "y") * 2 for n in range(1, 630)),
    "self-similar": lambda: [*accumulate(repeat("ab", 18), lambda s, _: s + "c" + s)][-1][:SIZE],
    "broken at 4.4 copies of 30": lambda: broken(30, 4.4),
    "broken at 3.9 copies of 100": lambda: broken(100, 3.9),
    "broken at 2.9 copies of 600": lambda: broken(600, 2.9),
    "broken at 2.2 copies of 5,000": lambda: broken(5000, 2.2),
    "copies with slots": lambda: near_copies(0.03),
    "two letters, blanks": lambda: "a " * 60 + "".join(random.Random(1).choices("ab ", k=SIZE)),
    "digits": lambda: "".join(map(str, range(75_000))),
    "rows of numbers": lambda: "".join(f"{n % 7}, {n % 11}, 0, 0\n" for n in range(30_000)),
    "quotes": lambda: "\"'" * (SIZE // 2),
    "NULs and newlines": lambda: ("\0" * 380 + "\n" * 380) * 500,
    "lone surrogates": lambda: "".join(random.Random(2).choices("\ud800\udfff x", k=SIZE)),
    "blanks in between": lambda: (" " * 390 + "q") * 1000,
    "one line of letters": lambda: "".join(random.Random(3).choices("abcdefghijklmnop", k=SIZE)),
    "1 MB of one character": lambda: "0" * 1_000_000,
}
