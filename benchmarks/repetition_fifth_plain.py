"""Sound texts of no script for the fifth set: drawings, encoded bytes, code, tests, logs, tables, games, songs."""

from __future__ import annotations

import base64
import random
import uuid
import zlib
from collections.abc import Callable
from itertools import product

from benchmarks.repetition_fifth_words import NAMES, WORDS, lines


def path_of_curve(rng: random.Random) -> str:
    moves = "".join(
        f"{rng.choice('cCsSlLqQ')}{rng.randint(-90, 90) / 10} {rng.randint(-90, 90) / 10} {rng.random():.2f} {rng.random():.2f}"
        for _ in range(180)
    )
    return f'<svg viewBox="0 0 24 24"><path d="M12 0{moves}z"/></svg>'


def straight_path(rng: random.Random) -> str:
    return "<path d='M0 0" + "".join(f"h{rng.randint(1, 9)}v{rng.randint(1, 9)}" for _ in range(260)) + "z'/>"


def squares(rng: random.Random) -> str:
    cells = product(range(8), range(8))
    return "".join(
        f'<rect x="{30 * x}" y="{30 * y}" width="30" height="30" fill="{rng.choice(("#fff", "#333", "#c00"))}"/>\n'
        for x, y in cells
    )


def encoded(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(3000)).decode()


def encoded_lines(rng: random.Random) -> str:
    body = base64.encodebytes(zlib.compress(rng.randbytes(2500))).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"


def hex_dump(rng: random.Random) -> str:
    row = lambda n: f"{16 * n:08x}  " + " ".join(f"{b:02x}" for b in rng.randbytes(16)) + "\n"  # noqa: E731
    return lines(rng, row, 40, 90)


def sparse_dump(rng: random.Random) -> str:
    """A dump of which half is zero, in stretches of a line or two."""

    def row(n: int) -> str:
        zero = rng.random() < 0.4
        return f"{16 * n:08x}  " + " ".join("00" if zero else f"{b:02x}" for b in rng.randbytes(16)) + "\n"

    return lines(rng, row, 40, 90)


def minified(rng: random.Random) -> str:
    def one(n: int) -> str:
        a, b, c = rng.sample("abcdefghijkmnoprstuvwxyz", 3)
        return rng.choice(
            (
                f"function {a}{n}({b},{c}){{return {b}.{rng.choice(NAMES)}({c}||{rng.randint(0, 99)})}}",
                f"var {a}{n}={b}({rng.randint(1, 900)}),{c}={a}.{rng.choice(NAMES)};",
                f"if(!{a}){{{b}.{rng.choice(NAMES)}=void 0}}else for(var {c} in {a}){b}[{c}]={a}[{c}];",
            )
        )

    return lines(rng, one, 60, 120)


def module_map(rng: random.Random) -> str:
    return "".join(
        f'{rng.randint(10, 9999)}:(e,t,n)=>{{"use strict";n.d(t,{{{rng.choice("ABCDEF")}:()=>{rng.choice("rios")}}});var r=n({rng.randint(10, 9999)})}},'
        for _ in range(40)
    )


def unit_tests(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"def test_{rng.choice(NAMES)}_{rng.choice(WORDS['English'])}_{n}():\n    assert {rng.choice(NAMES)}({rng.randint(0, 99)}) == {rng.randint(0, 9999)}\n\n\n"
        ),
        15,
        40,
    )


def table_of_cases(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f'        {{"{rng.choice(WORDS["English"])} {rng.choice(NAMES)}", {rng.randint(0, 99)}, {rng.randint(0, 99)}, {rng.choice(("true", "false"))}}},\n'
        ),
        20,
        60,
    )


def tap(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"ok {n} - {rng.choice(NAMES)} {rng.choice(WORDS['English'])} of {rng.choice(WORDS['English'])}\n"
        ),
        40,
        100,
    )


def times_table(rng: random.Random) -> str:
    top = rng.randint(9, 15)
    return "\n".join(" | ".join(str(a * b) for b in range(1, top)) for a in range(1, top + 3))


def truth_table(rng: random.Random) -> str:
    return "| A | B | C | D | E | out |\n|---|---|---|---|---|---|\n" + "".join(
        "| " + " | ".join(map(str, bits)) + f" | {rng.randint(0, 1)} |\n"
        for bits in product((0, 1), repeat=5)
    )


def sudoku(rng: random.Random) -> str:
    row = lambda _: "| " + " | ".join(" ".join(rng.choices("123456789.", k=3)) for _ in range(3)) + " |\n"  # noqa: E731
    return "".join("+-------+-------+-------+\n" + "".join(map(row, range(3))) for _ in range(9))


def board(rng: random.Random) -> str:
    """Six positions of noughts and crosses."""
    return "\n".join(
        "\n---+---+---\n".join(" " + " | ".join(rng.choices("XO ", k=3)) + " " for _ in range(3)) + "\n"
        for _ in range(9)
    )


def maze(rng: random.Random) -> str:
    return "\n".join("".join(rng.choice(("██", "  ", "  ")) for _ in range(28)) for _ in range(24))


def genome(rng: random.Random) -> str:
    return "\n".join("".join(rng.choices("ACGT", k=60)) for _ in range(40))


def game(rng: random.Random) -> str:
    move = lambda: (  # noqa: E731
        rng.choice("KQRBN") * (rng.random() < 0.6) + rng.choice("abcdefgh") + rng.choice("12345678")
    )
    return " ".join(f"{n}. {move()} {move()}" for n in range(1, 70))


def tune(rng: random.Random) -> str:
    bar = lambda: "".join(rng.choices(("A", "B", "c", "d", "e", "G2", "z", "f/2"), k=6))  # noqa: E731
    return "X:1\nM:4/4\nK:G\n" + "|\n".join("|".join(bar() for _ in range(4)) for _ in range(16))


def identifiers(rng: random.Random) -> str:
    return lines(rng, lambda _: f"{uuid.UUID(int=rng.getrandbits(128))}\n", 30, 80)


def manifests(rng: random.Random) -> str:
    one = lambda _: (  # noqa: E731
        f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {rng.choice(NAMES)}-{rng.randint(1, 900)}\nspec:\n  selector:\n    app: {rng.choice(WORDS['English'])}\n  ports:\n    - port: {rng.randint(80, 9000)}\n---\n"
    )
    return lines(rng, one, 8, 16)


def inserts(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"INSERT INTO goods (id, name, price) VALUES ({n}, '{rng.choice(WORDS['English'])} {rng.choice(WORDS['English'])}', {rng.randint(1, 9999) / 100});\n"
        ),
        20,
        60,
    )


def blame(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{rng.getrandbits(32):08x} ({rng.choice(('Ada', 'Bo', 'Cy'))} 2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)} {n:3d})     {rng.choice(NAMES)}_{rng.choice(WORDS['English'])}({rng.choice(WORDS['English'])})\n"
        ),
        30,
        80,
    )


def hunks(rng: random.Random) -> str:
    def one(n: int) -> str:
        name, word = rng.choice(NAMES), rng.choice(WORDS["English"])
        return f"@@ -{9 * n},3 +{9 * n},3 @@ def {name}_{word}(self):\n     self.{word} = 0\n-    return old.{name}(self.{word})\n+    return new.{name}(self.{word})\n"

    return lines(rng, one, 8, 20)


def renames(rng: random.Random) -> str:
    """One word changed into another all over a project: the edits of an agent."""
    old, new = rng.sample(WORDS["English"], 2)
    return lines(
        rng,
        lambda n: (
            f"- `src/{rng.choice(NAMES)}/{rng.choice(WORDS['English'])}_{n}.py`: renamed `{old}` to `{new}` in {rng.choice(NAMES)}()\n"
        ),
        12,
        30,
    )


def waiting(rng: random.Random) -> str:
    at = 0
    out = []
    while at < 100:
        at += rng.randint(1, 7)
        out.append(
            f"Progress: {min(at, 100)}% ({min(at, 100) * 12} of 1200 files), {rng.randint(1, 60)} s left\n"
        )
    return "".join(out)


def days(rng: random.Random) -> str:
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return "".join(
        f"{names[n % 7]}: {rng.choice(WORDS['English'])} and {rng.choice(WORDS['English'])}, {rng.randint(1, 20)} °C\n"
        for n in range(rng.randint(14, 40))
    )


def cumulative(rng: random.Random) -> str:
    """A song in which every verse says all that was said and adds one line; ten verses."""
    lines = [
        f"the {a} that {v}s the {b},\n"
        for a, b, v in zip(
            rng.sample(WORDS["English"], 10),
            rng.sample(WORDS["English"], 10),
            rng.sample(NAMES, 10),
            strict=True,
        )
    ]
    return "".join(f"This is {''.join(reversed(lines[: n + 1]))}\n" for n in range(10))


def litany(rng: random.Random) -> str:
    return "".join(
        f"For the {a} and the {b}: we thank you.\n"
        for a, b in zip(rng.sample(WORDS["English"], 20), rng.sample(WORDS["English"], 20), strict=True)
    )


def constants(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"#define {rng.choice(NAMES).upper()}_{rng.choice(WORDS['English']).upper()}_{n} 0x{rng.getrandbits(32):08x}\n"
        ),
        20,
        60,
    )


def accessors(rng: random.Random) -> str:
    def one(_: int) -> str:
        word = rng.choice(WORDS["English"]) + rng.choice(WORDS["English"]).capitalize()
        return f"    public String get{word.capitalize()}() {{\n        return this.{word};\n    }}\n\n"

    return lines(rng, one, 12, 30)


def temperatures(rng: random.Random) -> str:
    return "celsius,fahrenheit\n" + "".join(
        f"{c},{c * 9 / 5 + 32:.1f}\n" for c in range(rng.randint(-40, 0), rng.randint(60, 140))
    )


def greek_formulae(rng: random.Random) -> str:
    sign = lambda: rng.choice(("\\alpha", "\\beta", "\\gamma", "x_1", "x_2", "y", "\\pi", "2", "n"))  # noqa: E731
    return lines(
        rng,
        lambda n: (
            f"&= \\frac{{{sign()} + {sign()}}}{{{sign()}}} \\cdot \\sum_{{i=1}}^{{{sign()}}} {sign()} \\\\\n"
        ),
        10,
        30,
    )


PLAIN: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "curve": (path_of_curve, "drawing"),
    "straight path": (straight_path, "drawing"),
    "squares": (squares, "drawing"),
    "maze": (maze, "drawing"),
    "board": (board, "drawing"),
    "sudoku": (sudoku, "drawing"),
    "base64": (encoded, "encoded"),
    "certificate": (encoded_lines, "encoded"),
    "hex dump": (hex_dump, "encoded"),
    "sparse dump": (sparse_dump, "encoded"),
    "genome": (genome, "encoded"),
    "ids": (identifiers, "encoded"),
    "minified": (minified, "code"),
    "modules": (module_map, "code"),
    "unit tests": (unit_tests, "code"),
    "cases": (table_of_cases, "code"),
    "constants": (constants, "code"),
    "accessors": (accessors, "code"),
    "hunks": (hunks, "code"),
    "manifests": (manifests, "data"),
    "inserts": (inserts, "data"),
    "temperatures": (temperatures, "data"),
    "TAP": (tap, "log"),
    "blame": (blame, "log"),
    "waiting": (waiting, "log"),
    "renames": (renames, "list"),
    "days": (days, "list"),
    "litany": (litany, "verse"),
    "cumulative": (cumulative, "verse"),
    "tune": (tune, "verse"),
    "times table": (times_table, "table"),
    "truth table": (truth_table, "table"),
    "game": (game, "data"),
    "formulae": (greek_formulae, "code"),
}
