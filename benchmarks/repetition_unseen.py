"""A third set of collapses, drawn by another generator than `repetition_loops`, and committed before a rule was changed.

A model that collapses copies from itself, so most families here are a small sampler over one short passage: it walks a
chain of words, jumps back in what it wrote, stutters, counts, or varies a slot. Sentences of 25 languages about an
agent's work are our own, those of seven further scripts are of the Universal Declaration of Human Rights
(`tests/corpus/agent_sentences.jsonl`). `onset` is the first character of the second copy, or of the degenerate part.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from benchmarks.repetition_loops import Loop

SENTENCES = Path(__file__).parent.parent / "tests" / "corpus" / "agent_sentences.jsonl"
SIZE = 6000
SEED = "unseen 5"
WITHOUT_BLANKS = ("Chinese", "Chinese, traditional", "Japanese", "Thai", "Yi", "Javanese")
NOISES = {
    "as in the article": ["(Sigh)", "(Laughter)"],
    "Japanese": ["（ため息）", "（笑）", "（沈黙）", "（咳）", "（うなずく）"],
    "capitals": ["[SIGH]", "[LAUGHTER]", "[PAUSE]", "[MUSIC]", "[APPLAUSE]"],
    "stars": ["*sighs deeply*", "*laughs*", "*stares at the screen*", "*shrugs*"],
    "tags": ["<sigh>", "<laugh>", "<breath>", "<cough>"],
    "long": [
        "(sighs softly)",
        "(laughs quietly)",
        "(takes a deep breath)",
        "(long pause)",
        "(clears throat)",
    ],
    "colons": [":sigh:", ":laughing:", ":cough:", ":sweat_smile:", ":pensive:"],
    "Spanish": ["(Suspiro)", "(Risas)", "(Pausa)", "(Tos)", "(Silencio)", "(Aplausos)"],
    "bare": ["Sigh.", "Haha.", "Ugh.", "Hmm.", "Phew.", "Oh well."],
    "emoji": ["(sigh 😮‍💨)", "(laugh 😂)", "(cry 😭)", "(think 🤔)"],
}
SEPARATORS = (" ", "", "\n", " … ", "... ", ", ", " - ", "\n\n", " ♪ ", " / ")
OPENINGS = (
    "I have read the handler and its two callers. The timeout is set in seconds but compared with milliseconds.\n\n",
    "First the good news: the migration ran, and the old rows are intact. What is left is the index on `created_at`.\n\n",
    "Here is my plan.\n\n1. Reproduce the crash with the file you sent.\n2. Find the first bad commit.\n3. Write a test.\n\n",
    "```go\nfunc (q *Queue) Pop() (Item, bool) {\n\tif len(q.items) == 0 {\n\t\treturn Item{}, false\n\t}\n\treturn q.items[0], true\n}\n```\n\n",
    "Looking at the output, three of the nine cases fail, all of them because the clock is read twice. ",
    "The user asks for a smaller image. The base layer has 400 MB, most of it compilers that only the build needs. ",
)

Draw = Callable[[random.Random, list[str], str], tuple[str, int]]
"""(generator, eight sentences, what stands between two) -> collapsed part and the onset within it."""


def _until(draw: Callable[[int], str], first: int = 1, *, counted: bool = False) -> tuple[str, int]:
    out: list[str] = []
    size = 0
    while size < SIZE:
        out.append(draw(first + len(out)))
        size += len(out[-1])
    return "".join(out), len(out[0]) if counted else 0


def _cycle(unit: str) -> tuple[str, int]:
    return (unit * (SIZE // len(unit) + 5))[: max(SIZE, 5 * len(unit))], len(unit)


def _words(sentence: str, end: str) -> list[str]:
    return sentence.split() if end else [sentence[at : at + 3] for at in range(0, len(sentence), 3)]


def noises_in_turn(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pool = NOISES[said[0]]
    return _cycle("".join(noise + said[1] for noise in rng.sample(pool, min(len(pool), rng.randint(2, 4)))))


def noises_at_random(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pool = NOISES[said[0]]
    return _until(lambda _: rng.choice(pool) + said[1])


def noises_within_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Noises between the words of one sentence that is said over and over."""
    pool, words = rng.choice(list(NOISES.values())), said[0].split()
    return _until(lambda n: words[n % len(words)] + " " + (rng.choice(pool) + " " if n % 2 else ""))


def chain_of_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A chain over the words of two sentences: which word follows is drawn anew each time."""
    words = _words(rng.choice(said), end) + _words(rng.choice(said), end)
    follows: dict[str, list[str]] = defaultdict(list)
    for at, word in enumerate(words):
        follows[word] += [words[(at + 1) % len(words)], words[(at + 3) % len(words)]]
    state = [words[0]]

    def step(_: int) -> str:
        state[0] = rng.choice(follows[state[0]])
        return state[0] + end

    return _until(step)


def jumps_back(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Copies four to twelve words from anywhere in its own first three sentences, again and again."""
    words = [word for sentence in rng.sample(said, 3) for word in _words(sentence, end)]

    def piece(_: int) -> str:
        at = rng.randrange(len(words))
        return "".join(word + end for word in words[at : at + rng.randint(4, 12)])

    return _until(piece)


def pool(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    some = rng.sample(said, rng.randint(3, 8))
    return _until(lambda _: rng.choice(some) + (end or rng.choice(("", "\n"))))


def one_sentence(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(rng.choice(said) + (end or "\n"))


def two_in_turn(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle("\n".join(rng.sample(said, 2)) + "\n\n")


def all_eight(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(end.join(said) + "\n\n")


def few_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = _words(rng.choice(said), end)
    at = rng.randrange(max(1, len(words) - 3))
    return _cycle("".join(word + end for word in words[at : at + rng.randint(1, 3)]))


def counted(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    body, style = rng.choice(said), rng.choice(("Step {}: {}\n", "{}) {}\n", "({}) {} ", "## {}\n\n{}\n\n"))
    return _until(lambda n: style.format(n, body), rng.randint(2, 30), counted=True)


def lettered(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Letters and Roman numerals count as numbers do."""
    body = rng.choice(said)
    marks = [f"{a}{b}" for a in ("", *"ABCDE") for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    return _until(lambda n: f"{marks[n % len(marks)]}. {body}\n", 0, counted=True)


def dated(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    body, day = rng.choice(said), rng.randint(1, 300)
    return _until(
        lambda n: f"2025-{(day + n) // 28 % 12 + 1:02d}-{(day + n) % 28 + 1:02d}: {body}\n", 0, counted=True
    )


def numbered_files(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    name = rng.choice(("test_case", "module", "chunk", "migration"))
    return _until(
        lambda n: f"Now I open `{name}_{n:03d}.py` and check it. ", rng.randint(1, 60), counted=True
    )


def synonyms(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One word of the sentence is one of five."""
    words, others = rng.choice(said).split(), rng.choice(said).split()[:5]
    at = rng.randrange(len(words))
    return _until(lambda _: " ".join([*words[:at], rng.choice(others), *words[at + 1 :]]) + " ")


def slips(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The sentence again and again, two in a hundred of its letters wrong."""
    body = rng.choice(said) + " " + rng.choice(said) + "\n"
    letters = [c for c in body if c.isalpha()]
    return _until(
        lambda _: "".join(rng.choice(letters) if c.isalpha() and rng.random() < 0.02 else c for c in body),
        counted=True,
    )


def stutter(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Each word once to four times, the sentence over and over."""
    words = _words(rng.choice(said), end)
    return _until(lambda n: (words[n % len(words)] + end) * rng.randint(1, 4), 0)


def growing(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Each copy is longer by one word that was said before."""
    head, more = _words(rng.choice(said), end), _words(rng.choice(said), end)[0]
    return _until(lambda n: end.join([*head, *[more] * n]) + "\n")


def trailing_off(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A few words, then dots of any number."""
    words = [end.join(_words(sentence, end)[:2]) for sentence in rng.sample(said, 3)]
    return _until(lambda _: rng.choice(words) + "." * rng.randint(1, 7) + rng.choice((" ", "\n")))


def punctuated(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = end.join(_words(rng.choice(said), end)[:3])
    return _until(lambda _: words + rng.choice((". ", "! ", "? ", ", ", "… ", "?! ")))


def questions(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Asks and answers itself in no order."""
    asks, answers = (
        ("Should I?", "Is it done?", "Am I sure?", "What now?"),
        ("Yes.", "No.", "Maybe.", "Wait."),
    )
    return _until(lambda _: rng.choice(asks) + " " + rng.choice((*answers, said[3], said[7])) + " ")


def two_languages(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(f"{said[2]} {_ENGLISH[2]}\n")


def marked_lines(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One item of a list under changing bullets."""
    body = rng.choice(said)
    return _until(lambda _: rng.choice(("- ", "* ", "+ ", "• ", "1. ", "  - ")) + body + "\n", counted=True)


def politeness(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    ends = ("😊", "🙏", "✨", "", "!", "👍")
    return _until(
        lambda _: f"You're welcome! Let me know if you need anything else {rng.choice(ends)}\n\n",
        counted=True,
    )


def drifting_indent(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    body = rng.choice(said)
    return _until(lambda n: "  " * (n % 12) + body + "\n", 0, counted=True)


def comment_and_code(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """In the arguments of a call that writes a file."""
    unit = f"    # {said[6]}\n    result = self.{rng.choice(('load', 'fetch', 'parse'))}(result)\n"
    return _cycle(json.dumps(unit, ensure_ascii=False)[1:-1])


def nested_tags(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(rng.choice(('<div class="row">', "<ul><li>", "<b><i>", "\\begin{itemize} \\item ", "> > ")))


def escapes(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(rng.choice(("\\\\", "\\\\n\\\\n", "\\u0020", '\\", \\"', "\\t\\t")))


def code_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(
        rng.choice((" --no-cache -y", " && cd ..", " | sort -u", "/../src", " -I../include", ", null=True"))
    )


def hesitation(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One's own language, one of four sentences behind one of four starts."""
    starts = ("Hmm… ", "Ah! ", "Eh? ", "Oh, ")
    return _until(lambda _: rng.choice(starts) + rng.choice(said[:4]) + (end or "\n"))


def _read() -> dict[str, list[str]]:
    rows = [json.loads(line) for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    return {row["script"]: row["sentences"] for row in rows}


_SAID = _read()
_ENGLISH = _SAID["English"]
_ALL = tuple(_SAID)
_SPACED = tuple(script for script in _ALL if script not in WITHOUT_BLANKS)
_NOISE = tuple(f"{kind}|{between}" for kind, between in zip(NOISES, SEPARATORS, strict=True))
Channel = Literal["text", "reasoning", "code"]
FAMILIES: dict[str, tuple[Draw, Channel, tuple[str, ...]]] = {
    "noises in turn": (noises_in_turn, "text", _NOISE),
    "noises at random": (noises_at_random, "text", _NOISE),
    "noises within words": (noises_within_words, "text", _SPACED[::4]),
    "chain of words": (chain_of_words, "text", _ALL[::2]),
    "jumps back": (jumps_back, "reasoning", _ALL[1::2]),
    "pool": (pool, "reasoning", _ALL),
    "one sentence": (one_sentence, "text", _ALL),
    "two in turn": (two_in_turn, "text", _ALL[::2]),
    "all eight": (all_eight, "text", _ALL[1::3]),
    "few words": (few_words, "text", _ALL),
    "counted": (counted, "text", _ALL[::2]),
    "lettered": (lettered, "text", _ALL[::4]),
    "dated": (dated, "text", _ALL[1::4]),
    "numbered files": (numbered_files, "reasoning", ("English",) * 4),
    "synonyms": (synonyms, "text", _SPACED[::3]),
    "slips": (slips, "text", _ALL[::4]),
    "stutter": (stutter, "text", _ALL[2::4]),
    "growing": (growing, "text", _ALL[3::4]),
    "trailing off": (trailing_off, "text", _ALL[::3]),
    "punctuated": (punctuated, "text", _ALL[1::4]),
    "questions": (questions, "reasoning", ("English",) * 5),
    "two languages": (two_languages, "text", _ALL[3::4]),
    "marked lines": (marked_lines, "text", _ALL[2::5]),
    "politeness": (politeness, "text", ("English",) * 3),
    "drifting indent": (drifting_indent, "text", _ALL[::8]),
    "comment and code": (comment_and_code, "code", _ALL[1::6]),
    "nested tags": (nested_tags, "code", ("English",) * 5),
    "escapes": (escapes, "code", ("English",) * 5),
    "code words": (code_words, "code", ("English",) * 6),
    "hesitation": (hesitation, "reasoning", _ALL[1::3]),
}
CUT_SHARE = 0.2


def unseen(seed: str = SEED) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit."""
    for family, (draw, channel, kinds) in FAMILIES.items():
        for number, kind in enumerate(kinds):
            rng = random.Random(f"{seed}/{family}/{kind}/{number}")
            script, noise, between = kind.partition("|")
            said = [script, between] if noise else _SAID[script]
            before = "".join(rng.sample(OPENINGS, rng.randint(1, 3)))
            looped, onset = draw(rng, said, "" if script in WITHOUT_BLANKS else " ")
            cut = rng.random() < CUT_SHARE
            if cut:
                looped = looped[: max(rng.randint(800, 2200), 4 * onset)]
            shown = "Noises" if noise else script
            yield Loop(
                f"{family}/{script}/{number}",
                family,
                shown,
                before + looped,
                len(before) + onset,
                channel,
                "length" if cut else None,
            )
