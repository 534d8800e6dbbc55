"""Sound texts beside the seventh set: drawn ones, and files of kinds that the detector was not made on.

    python benchmarks/repetition_seventh_sound.py FOLDER      # fetches and unpacks, some 120 MB

Fixtures, generated tables, catalogues of countries, API descriptions, style sheets, browser data, grammars, locale files,
dictionaries and tests; and drawn ones, of which each line or verse says something of its own.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_fifth_words import NAMES, WORDS, lines
from benchmarks.repetition_fourth_sound import fetch, packaged
from benchmarks.repetition_machine import Found
from benchmarks.repetition_seventh import SAID

PACKAGES = (
    ("pip", "docutils==0.21.2", "py"),
    ("pip", "phonenumbers==8.13.50", "py"),
    ("pip", "pycountry==24.6.1", "json po"),
    ("pip", "sympy==1.13.3", "py"),
    ("pip", "botocore==1.35.60", "json"),
    ("npm", "bulma@1.0.2", "css scss"),
    ("npm", "mdn-data@2.12.2", "json md"),
    ("npm", "highlight.js@11.10.0", "js css md"),
    ("npm", "date-fns@4.1.0", "js cjs ts"),
    ("npm", "dictionary-de@3.0.0", "aff dic"),
    ("npm", "caniuse-db@1.0.30001680", "json"),
    ("npm", "rxjs@7.8.1", "ts js md"),
    ("npm", "cldr-dates-full@46.0.0", "json"),
    ("npm", "ajv@8.17.1", "ts js"),
)
PER_KIND = 50
_WORDS = WORDS["English"]
_SCRIPTS = tuple(SAID)


def _few(rng: random.Random, number: int) -> str:
    return " ".join(rng.sample(_WORDS, number))


def cases(rng: random.Random) -> str:
    """Tests that are alike but for a name and two values."""
    return lines(
        rng,
        lambda n: (
            f"    def test_{rng.choice(NAMES)}_{rng.choice(_WORDS)}_{n}(self):\n        self.assertEqual({rng.choice(NAMES)}({rng.randint(0, 99)}), '{rng.choice(_WORDS)}')\n\n"
        ),
    )


def parametrized(rng: random.Random) -> str:
    rows = [
        f'        ("{_few(rng, 2)}", {rng.randint(0, 99)}, {rng.choice((True, False))}),' for _ in range(30)
    ]
    return (
        "@pytest.mark.parametrize(\n    ('text', 'size', 'good'),\n    [\n"
        + "\n".join(rows)
        + "\n    ],\n)\n"
    )


def locks(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f'[[package]]\nname = "{rng.choice(NAMES)}-{rng.choice(_WORDS)}"\nversion = "{rng.randint(0, 9)}.{rng.randint(0, 40)}.0"\nsource = "registry"\nchecksum = "{rng.getrandbits(256):064x}"\n\n'
        ),
    )


def comma_table(rng: random.Random) -> str:
    return "id,name,kind,count,share\n" + lines(
        rng,
        lambda n: f"{n},{rng.choice(_WORDS)},{rng.choice('ABC')},{rng.randint(1, 900)},{rng.random():.3f}\n",
        40,
        120,
    )


def changelog(rng: random.Random) -> str:
    heads = ("Added", "Fixed", "Changed")
    return lines(
        rng,
        lambda n: (
            f"## {9 - n // 9}.{9 - n % 9}.0\n\n### {rng.choice(heads)}\n\n- {rng.choice(NAMES)} the {_few(rng, 2)} (#{rng.randint(100, 9999)})\n- {rng.choice(NAMES)} {_few(rng, 3)}\n\n"
        ),
        10,
        30,
    )


def matrix(rng: random.Random) -> str:
    systems, versions = ("ubuntu-24.04", "macos-15", "windows-2025"), ("3.11", "3.12", "3.13")
    return "jobs:\n" + "".join(
        f"  - os: {system}\n    python: '{version}'\n    backend: {rng.choice(_WORDS)}\n    timeout: {rng.randint(5, 60)}\n"
        for system in systems
        for version in versions
    )


def clauses(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"{n // 5 + 1}.{n % 5 + 1} The Supplier shall {rng.choice(NAMES)} the {_few(rng, 1)} and the {_few(rng, 1)} within {rng.randint(2, 60)} days of the {_few(rng, 2)}.\n"
        ),
    )


def catalogue(rng: random.Random) -> str:
    said = SAID[rng.choice(_SCRIPTS)]
    return lines(
        rng,
        lambda n: (
            f'#: src/{rng.choice(_WORDS)}.c:{rng.randint(3, 900)}\nmsgid "{_few(rng, 4)}"\nmsgstr "{" ".join(rng.sample(said[n % 4].split(), min(3, len(said[n % 4].split()))))} {_few(rng, 1)}"\n\n'
        ),
    )


def lyrics(rng: random.Random) -> str:
    hook = f"Oh {_few(rng, 2)}, oh {_few(rng, 2)}\n"
    verse = lambda _: "".join(f"{_few(rng, 5)}\n" for _ in range(4)) + hook * 2 + "\n"  # noqa: E731
    return lines(rng, verse, 3, 5)


def villages(rng: random.Random) -> str:
    """Verses of which each adds a line to the one before, five times."""
    made = [f"and the {a} that saw the {b}" for a, b in zip(_WORDS[:6], _WORDS[6:12], strict=True)]
    rng.shuffle(made)
    return "\n\n".join("\n".join(reversed(made[:n])) for n in range(1, 6))


def getters(rng: random.Random) -> str:
    return "".join(
        f"    public {kind} get{one.title()}() {{\n        return this.{one};\n    }}\n\n    public void set{one.title()}({kind} {one}) {{\n        this.{one} = {one};\n    }}\n\n"
        for one in rng.sample(_WORDS, 12)
        for kind in (rng.choice(("String", "int", "long")),)
    )


def minified(rng: random.Random) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(
        f"function {rng.choice(letters)}({rng.choice(letters)},{rng.choice(letters)}){{return {rng.choice(letters)}?{rng.randint(0, 99)}:{rng.choice(letters)}.{rng.choice(_WORDS)}({rng.choice(letters)})}}"
        for _ in range(60)
    )


def switch(rng: random.Random) -> str:
    return "".join(
        f'        case {n}: return "{one}";\n'
        for n, one in enumerate(rng.sample(_WORDS, 24), rng.randint(0, 9))
    )


def assembly(rng: random.Random) -> str:
    registers = ("eax", "ebx", "ecx", "edx", "esi", "edi")
    return lines(
        rng,
        lambda n: (
            f"  {0x401000 + 4 * n:x}:\t{rng.getrandbits(24):06x}\t{rng.choice(('mov', 'add', 'cmp', 'xor', 'lea'))}    {rng.choice(registers)}, [{rng.choice(registers)}+0x{rng.randint(0, 255):x}]\n"
        ),
        30,
        90,
    )


def markup(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f'      <tr class="row">\n        <td>{n}</td>\n        <td>{_few(rng, 2)}</td>\n      </tr>\n'
        ),
    )


def migrations(rng: random.Random) -> str:
    kinds = ("integer", "text not null", "timestamptz", "numeric(12, 2)")
    return lines(
        rng,
        lambda n: (
            f"alter table {rng.choice(_WORDS)} add column {rng.choice(_WORDS)}_{n} {rng.choice(kinds)};\n"
        ),
    )


def polling(rng: random.Random) -> str:
    return lines(
        rng,
        lambda n: (
            f"$ gh run view {rng.randint(10**9, 10**10)}\nstatus: in_progress, {n * rng.randint(20, 40)}s elapsed, job {_few(rng, 1)}\n"
        ),
        8,
        16,
    )


def edges(rng: random.Random) -> str:
    return "graph TD\n" + "".join(
        f"    {a} -->|{b}| {c}\n" for a, b, c in (rng.sample(_WORDS, 3) for _ in range(20))
    )


def conjugation(rng: random.Random) -> str:
    people = ("I", "you", "he", "she", "we", "they")
    return "".join(
        f"{who} {verb}, {who} will {verb}, {who} would {verb}\n" for verb in NAMES[:8] for who in people
    )


def scales(rng: random.Random) -> str:
    tones = "C D E F G A B".split()
    return lines(
        rng,
        lambda n: f"{n}: " + " ".join(f"{rng.choice(tones)}{rng.randint(2, 5)}" for _ in range(8)) + "\n",
        8,
        16,
    )


def readings(rng: random.Random) -> str:
    """An agent reads file after file and says each time what it found."""
    return "".join(
        f"Now let me look at `{rng.choice(NAMES)}/{_few(rng, 1)}.py`. It {rng.choice(NAMES)}s the {_few(rng, 2)} and hands the {_few(rng, 1)} on; nothing here touches the {_few(rng, 1)}.\n\n"
        for _ in range(12)
    )


def sentences(rng: random.Random) -> str:
    """Each sentence of four languages once."""
    some = rng.sample(_SCRIPTS, 4)
    return "\n".join(f"{one}: {said}" for one in some for said in SAID[one])


KINDS: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "cases": (cases, "code"),
    "parametrized": (parametrized, "code"),
    "locks": (locks, "data"),
    "comma table": (comma_table, "data"),
    "changelog": (changelog, "list"),
    "matrix": (matrix, "data"),
    "clauses": (clauses, "list"),
    "catalogue": (catalogue, "data"),
    "lyrics": (lyrics, "verse"),
    "villages": (villages, "verse"),
    "getters": (getters, "code"),
    "minified": (minified, "code"),
    "switch": (switch, "code"),
    "assembly": (assembly, "code"),
    "markup": (markup, "code"),
    "migrations": (migrations, "code"),
    "polling": (polling, "polling"),
    "edges": (edges, "data"),
    "conjugation": (conjugation, "list"),
    "scales": (scales, "data"),
    "readings": (readings, "prose"),
    "sentences": (sentences, "prose"),
}


def drawn(seed: str) -> Iterator[Found]:
    for kind, (make, group) in KINDS.items():
        for number in range(PER_KIND):
            yield Found(group, f"{kind}/{number}", make(random.Random(f"{seed}/{kind}/{number}")))


def files(folder: Path | None) -> Iterator[Found]:
    yield from packaged(folder, PACKAGES)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]), PACKAGES)
