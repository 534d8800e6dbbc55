"""Collapses in many scripts and orders, drawn with fixed seeds: families that the first corpus lacks.

Two parts share neither words nor seeds: `tuning` may be looked at, `validation` may not. Families named in `UNSEEN`
exist in the validation part only, so that rules cannot be fitted to them. Sentences of 29 scripts stand in
`tests/corpus/scripts.jsonl` (the Universal Declaration of Human Rights; pointed Hebrew: Genesis and our own).

Labels follow from how a text is made. `onset` is the first character of the second copy, or of the degenerate part
where nothing repeats in order.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Part = Literal["tuning", "validation"]
SEEDS: dict[Part, str] = {"tuning": "tuning 41", "validation": "validation 977"}
SCRIPTS = Path(__file__).parent.parent / "tests" / "corpus" / "scripts.jsonl"
SIZE = 8000
WITHOUT_BLANKS = ("Chinese", "Japanese", "Thai", "Khmer", "Myanmar", "Lao", "Tibetan")


@dataclass(frozen=True, slots=True)
class Loop:
    """`finish_reason` is `length` where the reply ends within the loop and its engine said so."""

    name: str
    family: str
    script: str
    text: str
    onset: int
    channel: Literal["text", "reasoning", "code"] = "text"
    finish_reason: str | None = None


class Words:
    """What one part is made of."""

    def __init__(self, part: Part) -> None:
        tuning = part == "tuning"
        rows = [json.loads(line) for line in SCRIPTS.read_text(encoding="utf-8").splitlines()]
        self.sentences: dict[str, list[str]] = {row["script"]: row[part] for row in rows}
        self.noises = (
            "(Sigh) (Laughter) (Pause) (Cough) (Gasp) (Groan) (Applause) (Silence) (Breath) (Chuckle)"
            if tuning
            else "*sigh* [laughs] (Whisper) (Sob) <giggle> (Murmur) *clears_throat* (Yawn) [inaudible] (Snort) (Hmm) Ugh!"
        ).split()
        self.joints = (
            ("and then", "again", "so", "well", "okay")
            if tuning
            else ("anyway", "once more", "um", "you know", "oh dear")
        )
        self.openings = OPENINGS[:6] if tuning else OPENINGS[6:]
        self.names = (
            ["parse_row", "flush_queue", "Config", "shipper", "items"]
            if tuning
            else ["decode_frame", "retry_later", "Session", "packer", "nodes"]
        )


OPENINGS = (
    "I read `push()` and `flush()`. The queue is emptied one record late, because the test is `>` and not `>=`.\n\n",
    "Let me look at the failing test first.\n\n```python\ndef test_push():\n    q = Queue(3)\n    assert q.push(1)\n```\n\n",
    "The build fails in three places:\n\n1. `setup.cfg` names a module that is gone.\n2. The lock file is old.\n3. CI has no cache.\n\n",
    "Here is the summary of what I changed so far. The parser now keeps the line number of each token, so errors can point at it. ",
    "I'll start the server and check the port.\n\n```bash\nuvicorn app:main --port 8080\n```\n\n",
    "The user wants a refactor of the shipping module. First I need to see who imports it, then I can decide where to cut. ",
    "Running the migration twice must not change anything, so I made each statement idempotent.\n\n",
    "There are two candidates for the leak: the cache in `loader.py` and the listener that is never removed. I checked both. ",
    "```diff\n-    return rows[0]\n+    return rows[0] if rows else None\n```\n\nWith this the crash on an empty table is gone.\n\n",
    "Done. All 214 tests pass, and the type checker is quiet. One thing is left: the documentation still shows the old flag.\n\n",
    "Thinking about the lock order: A takes the registry, then the session; B takes them the other way round. So a deadlock is possible. ",
    "Next I compare the two JSON files key by key and print what differs, with the path of each key.\n\n",
)

Family = Callable[[random.Random, Words, str], tuple[str, int]]
"""(generator, words, script) -> collapsed part and the onset within it."""


def _cycle(unit: str) -> tuple[str, int]:
    return (unit * (SIZE // len(unit) + 2))[: max(SIZE, 6 * len(unit))], len(unit)


def _stream(draw: Callable[[], str]) -> tuple[str, int]:
    out, size = [], 0
    while size < SIZE:
        out.append(draw())
        size += len(out[-1])
    return "".join(out), 0


def _counted(draw: Callable[[int], str], first: int = 1) -> tuple[str, int]:
    numbers = iter(range(first, 10**7))
    text, _ = _stream(lambda: draw(next(numbers)))
    return text, len(draw(first))


def _sentence(rng: random.Random, made_of: Words, script: str) -> str:
    return rng.choice(made_of.sentences[script])


def _end(script: str) -> str:
    return "" if script in WITHOUT_BLANKS else " "


def noises_with_ellipses(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    pool, between = (
        rng.sample(made_of.noises, rng.randint(2, 10)),
        rng.choice((" … ", "... ", " ", "\n", "… ")),
    )
    return _stream(lambda: rng.choice(pool) + between)


def noises_with_words(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    pool = rng.sample(made_of.noises, rng.randint(2, 8))
    return _stream(lambda: f"{rng.choice(pool)} {rng.choice(made_of.joints)} ")


def mixed_separators(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    pool, between = rng.sample(made_of.noises, rng.randint(3, 10)), (" ", " … ", ", ", "... ", "\n", " - ")
    return _stream(lambda: rng.choice(pool) + rng.choice(between))


def one_word(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    sentence = _sentence(rng, made_of, script)
    if script in WITHOUT_BLANKS:
        at = rng.randrange(max(1, len(sentence) - 8))
        return _cycle(sentence[at : at + rng.randint(2, 6)])
    return _cycle(rng.choice([w for w in sentence.split() if len(w) > 2]) + " ")


def phrase(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    sentence = _sentence(rng, made_of, script)
    if script in WITHOUT_BLANKS:
        return _cycle(sentence[: rng.randint(6, 14)])
    return _cycle(" ".join(sentence.split()[: rng.randint(2, 4)]) + " ")


def sentence(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(_sentence(rng, made_of, script) + (_end(script) or rng.choice(("", "\n"))))


def paragraph(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(_end(script).join(rng.sample(made_of.sentences[script], 4)) + "\n\n")


def counter(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    body, mark = _sentence(rng, made_of, script), rng.choice((". ", ") ", ": "))
    return _counted(lambda n: f"{n}{mark}{body}\n", rng.randint(1, 40))


def sentence_pool(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    pool = rng.sample(made_of.sentences[script], rng.randint(4, 8))
    return _stream(lambda: rng.choice(pool) + _end(script))


def word_pool(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """A handful of the script's words in any order."""
    sentence = _sentence(rng, made_of, script)
    words = (
        [sentence[at : at + 3] for at in range(0, 18, 3)]
        if script in WITHOUT_BLANKS
        else sentence.split()[:6]
    )
    return _stream(lambda: rng.choice(words) + _end(script))


def near_copies(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    words = " ".join(rng.sample(made_of.sentences[script], 3)).split()
    others = " ".join(made_of.sentences[script]).split()

    def copy() -> str:
        return " ".join(rng.choice(others) if rng.random() < 0.06 else word for word in words) + "\n"

    return _stream(copy)[0], len(" ".join(words)) + 1


def shell_flags(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(
        rng.choice((" 2>&1", " -f -b 1000", " | head -20", " --retry 3", " -j4", " -v -v2", " >> out1.log"))
    )


def timestamps(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """One sentence again and again, only its time goes on."""
    body = _sentence(rng, made_of, script)

    def line(n: int) -> str:
        return (
            f"[2026-03-0{n // 86400 % 9 + 1} {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}] {body}\n"
        )

    return _counted(line, rng.randint(3000, 9000))


def identifier_slot(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """One name per line is new and random, the rest stays."""
    name = rng.choice(made_of.names)
    before, after = rng.choice(
        (
            ("Let me check the function `", "` again to see whether it is used anywhere."),
            ("Now I will update `", "` so that it uses the new name."),
        )
    )
    return _counted(lambda n: f"{before}{name}_{rng.getrandbits(24):06x}{after}\n")


def slot_in_code(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    name = rng.choice(made_of.names)
    return _cycle(f"    self.{name}.append(self.{name}[0])\n" * rng.randint(1, 2))


def digits_in_unit(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    name = rng.choice(made_of.names)
    return _cycle(
        rng.choice((f"{name}[0] = {name}[1], ", f"v1.2.3-{name} ", f"0x1f:{name} ", f"utf8_{name}2 "))
    )


def emoji(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    pool = rng.sample("😀🎉🚀✅❤️🔥👍🙏✨🤔", rng.randint(2, 5))
    return _stream(lambda: rng.choice(pool))


def laughing(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """Words that grow out of one or two letters."""
    a, b = rng.choice((("h", "a"), ("l", "o"), ("m", "e"), ("z", "i")))
    return _stream(lambda: (a + b) * rng.randint(1, 7) + rng.choice((" ", ", ", "! ", "… ")))


def doubting(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    starts = ("Wait, ", "Actually, ", "Hmm, ", "No, ", "Okay, ", "But ", "Let me think. ")
    middles = (
        "the lock is taken twice",
        "that is not the cause",
        "the index starts at one",
        "I should check it again",
    )
    ends = (". ", "? ", ", right? ", ".\n")
    return _stream(lambda: rng.choice(starts) + rng.choice(middles) + rng.choice(ends))


def two_sentences(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """Two sentences of two scripts in any order."""
    pool = [
        _sentence(rng, made_of, script),
        _sentence(rng, made_of, rng.choice(("Latin", "Japanese", "Cyrillic"))),
    ]
    return _stream(lambda: rng.choice(pool) + " ")


def json_rows(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(
        json.dumps({"id": rng.randint(1, 999), "name": rng.choice(made_of.names), "ok": True}) + ",\n"
    )


def checklist(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(f"- [ ] {_sentence(rng, made_of, script)}\n")


def table_row(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    name = rng.choice(made_of.names)
    return _cycle(f"| `{name}` | returns the value of {name} | yes |\n")


def url_path(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    name = rng.choice(made_of.names)
    before = f"https://example.com/{name}"
    return before + _cycle(f"/{name}/src")[0], len(before) + len(name) + 5


def brackets(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle(rng.choice((")", "]}", "})\n", "</div>\n", "*/ ", "```\n```\n")))


def shuffled_noises_of_lines(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """Noises as stage directions, a line each, with how long they last."""
    pool = rng.sample(made_of.noises, rng.randint(3, 8))
    return _stream(lambda: f"{rng.choice(pool)} for {rng.randint(1, 9)} seconds\n")


def casing(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """One word in all its spellings."""
    word = rng.choice(made_of.names)
    return _stream(lambda: rng.choice((word, word.upper(), word.title(), f"`{word}`", f"**{word}**")) + " ")


def two_numbers(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """A sentence with two numbers that go on."""
    body = _sentence(rng, made_of, "Latin")
    return _counted(lambda n: f"Attempt {n} of {n + 1}: {body} ", rng.randint(1, 50))


def native_digits(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    digits = {"Devanagari": 0x966, "Bengali": 0x9E6, "Tamil": 0xBE6, "Thai": 0xE50, "Arabic": 0x660}.get(
        script, 0x30
    )
    body = _sentence(rng, made_of, script)

    def line(n: int) -> str:
        return "".join(chr(digits + int(d)) for d in str(n)) + f". {body}\n"

    return _counted(line, rng.randint(1, 90))


def uuid_slot(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    body = _sentence(rng, made_of, "Latin")
    return _counted(lambda n: f"Request {rng.getrandbits(64):016x}: {body}\n")


def phrase_pool_of_letters(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """Syllables of a script glued in any order, no blanks at all."""
    letters = [c for c in _sentence(rng, made_of, script) if c.isalpha()][:3]
    return _stream(lambda: rng.choice(letters) + ("" if rng.random() < 0.8 else " "))


def imports(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    return _cycle("".join(f"from {rng.choice(made_of.names)} import {name}\n" for name in made_of.names[:3]))


def escaped(rng: random.Random, made_of: Words, script: str) -> tuple[str, int]:
    """A sentence loop within the arguments of a call."""
    return _cycle(json.dumps(_sentence(rng, made_of, script) + "\n", ensure_ascii=False)[1:-1])


Channel = Literal["text", "reasoning", "code"]
EVERY = tuple(Words("validation").sentences)
"""All 29 scripts."""
FAMILIES: dict[str, tuple[Family, Channel, tuple[str, ...]]] = {
    "noises, ellipses": (noises_with_ellipses, "text", ("Latin",) * 12),
    "noises, words between": (noises_with_words, "text", ("Latin",) * 8),
    "noises, mixed separators": (mixed_separators, "text", ("Latin",) * 8),
    "one word": (one_word, "text", EVERY),
    "phrase": (phrase, "text", EVERY),
    "sentence": (sentence, "reasoning", EVERY),
    "paragraph": (paragraph, "text", EVERY[::2]),
    "counter": (counter, "text", EVERY[1::2]),
    "sentence pool": (sentence_pool, "reasoning", EVERY),
    "word pool": (word_pool, "text", EVERY),
    "near-copies": (
        near_copies,
        "text",
        ("Latin", "French", "Cyrillic", "Devanagari", "Tamil", "Arabic", "Korean"),
    ),
    "shell flags": (shell_flags, "code", ("Latin",) * 8),
    "timestamps": (timestamps, "text", ("Latin", "Cyrillic", "Japanese", "Devanagari", "Korean", "Arabic")),
    "identifier slot": (identifier_slot, "reasoning", ("Latin",) * 6),
    "code statement": (slot_in_code, "code", ("Latin",) * 4),
    "digits in unit": (digits_in_unit, "text", ("Latin",) * 6),
    "emoji": (emoji, "text", ("Emoji",) * 6),
    "laughing": (laughing, "text", ("Latin",) * 6),
    "doubting": (doubting, "reasoning", ("Latin",) * 6),
    "JSON rows": (json_rows, "code", ("Latin",) * 4),
    "checklist": (checklist, "text", ("Latin", "Greek", "Telugu", "Chinese")),
    "brackets": (brackets, "code", ("Latin",) * 6),
    # Only in the validation part:
    "two sentences": (two_sentences, "text", ("Tamil", "Thai", "Chinese", "Korean", "Arabic", "Georgian")),
    "table row": (table_row, "text", ("Latin",) * 3),
    "URL path": (url_path, "text", ("Latin",) * 3),
    "noises with durations": (shuffled_noises_of_lines, "text", ("Latin",) * 6),
    "casing": (casing, "text", ("Latin",) * 4),
    "two numbers": (two_numbers, "reasoning", ("Latin",) * 4),
    "native digits": (native_digits, "text", ("Devanagari", "Bengali", "Tamil", "Thai", "Arabic")),
    "random id slot": (uuid_slot, "text", ("Latin",) * 4),
    "glued letters": (
        phrase_pool_of_letters,
        "text",
        ("Latin", "Cyrillic", "Georgian", "Chinese", "Korean", "Armenian"),
    ),
    "imports": (imports, "code", ("Latin",) * 3),
    "escaped sentence": (escaped, "code", ("Latin", "Hebrew, pointed", "Khmer", "Malayalam", "Japanese")),
}
UNSEEN = tuple(FAMILIES)[tuple(FAMILIES).index("two sentences") :]
CUT_SHARE = 0.25
"""Of the samples: the engine's token limit ends them after 900 to 2,500 characters, and says so."""


def loops(part: Part) -> Iterator[Loop]:
    """Every sample of a part, in a stable order."""
    made_of = Words(part)
    for family, (generate, channel, scripts) in FAMILIES.items():
        if part == "tuning" and family in UNSEEN:
            continue
        for number, script in enumerate(scripts):
            rng = random.Random(f"{SEEDS[part]}/{family}/{script}/{number}")
            before = "".join(rng.sample(made_of.openings, rng.randint(1, 3)))
            looped, onset = generate(rng, made_of, script)
            cut = rng.random() < CUT_SHARE
            if cut:
                looped = looped[: max(rng.randint(900, 2500), 4 * onset)]
            name = f"{family}/{script}/{number}"
            reason = "length" if cut else None
            yield Loop(name, family, script, before + looped, len(before) + onset, channel, reason)
