"""A fourth set of collapses: other families, words and seeds than the three before, committed before a rule was changed.

Families are what users report of real engines: tables, plans and headings that come round again, a reply that talks to
itself, paths and call chains that grow by the same part, quotes in quotes, clauses in any order. The sentences of 19
languages in 15 scripts are our own (`tests/corpus/harbour_sentences.jsonl`). `onset` is the first character of the
second copy, or of the degenerate part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from benchmarks.repetition_loops import Loop

SENTENCES = Path(__file__).parent.parent / "tests" / "corpus" / "harbour_sentences.jsonl"
SIZE = 6000
SEED = "fourth 8"
WITHOUT_BLANKS = ("Thai", "Khmer", "Chinese", "Japanese")
CUT_SHARE = 0.2
EMOJI = "😀🎉🚀✅🔥👍🙏✨🤔💡"
OPENINGS = (
    "The deploy script stops at the second host because its key has expired. I renewed it and tried again.\n\n",
    "Two of the five workers never report back. Their logs end with the same line, so I looked at what comes after it. ",
    "```rust\nfn next(&mut self) -> Option<Token> {\n    self.skip_blanks();\n    self.input.pop_front()\n}\n```\n\n",
    "Short answer: the cache key lacks the locale. Longer answer below.\n\n",
    "I'll begin with the smallest change that makes the test pass, then clean up. ",
    "| step | result |\n|---|---|\n| build | ok |\n| lint | 2 warnings |\n\nThe warnings are old.\n\n",
)

Draw = Callable[[random.Random, list[str], str], tuple[str, int]]
"""(generator, six sentences, what stands between two) -> collapsed part and the onset within it."""


def _until(draw: Callable[[int], str], *, counted: bool = False) -> tuple[str, int]:
    out: list[str] = []
    size = 0
    while size < SIZE:
        out.append(draw(len(out)))
        size += len(out[-1])
    return "".join(out), len(out[0]) if counted else 0


def _cycle(unit: str) -> tuple[str, int]:
    return unit * max(5, SIZE // len(unit)), len(unit)


def _parts(sentence: str, end: str, size: int = 3) -> list[str]:
    """Words; of a script without blanks pieces of `size` characters."""
    return sentence.split() if end else [sentence[at : at + size] for at in range(0, len(sentence), size)]


def _some(rng: random.Random, sentence: str, end: str, least: int, most: int) -> list[str]:
    parts = _parts(sentence, end)
    at = rng.randrange(max(1, len(parts) - most))
    return parts[at : at + rng.randint(least, most)]


def counted_noises(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """(Sigh x2) [Laugh x5]: the number is drawn each time."""
    noises = rng.sample(("Sigh", "Laugh", "Cough", "Pause", "Cries", "Hums"), rng.randint(2, 5))
    form = rng.choice(("({} x{}) ", "[{} ×{}]\n", "*{} {} times* "))
    return _until(lambda _: form.format(rng.choice(noises), rng.randint(2, 9)))


def table_rows(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(f"| {rng.choice(said)} | {rng.choice(('yes', 'ok', 'done'))} |\n")


def numbered_rows(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence = rng.choice(said)
    return _until(lambda n: f"| {n + 1} | {sentence} | ok |\n", counted=True)


def case_drift(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    parts = _parts(rng.choice(said), end)
    return _until(lambda _: end.join(p.upper() if rng.random() < 0.3 else p for p in parts) + (end or "\n"))


def deeper_quotes(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence = rng.choice(said)
    return _until(lambda n: "> " * min(n + 1, 30) + sentence + "\n", counted=True)


def echoes(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    words = end.join(_some(rng, rng.choice(said), end, 3, 6))
    return _cycle(words + " (")


def plan_restarts(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    steps = "".join(f"{n}. {one}\n" for n, one in enumerate(rng.sample(said, rng.randint(3, 6)), 1))
    return _cycle(rng.choice(("Here is the plan:\n\n", "New plan:\n", "---\n\n")) + steps + "\n")


def plan_varied(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The same plan under one of five headings, drawn each time."""
    steps = "".join(f"- {one}\n" for one in rng.sample(said, 4))
    heads = ("Plan", "Updated plan", "Revised plan", "Final plan", "Plan of action")
    return _until(lambda _: f"## {rng.choice(heads)}\n\n{steps}\n", counted=True)


def talks_to_itself(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    asked, answered = said[:2], said[2:4]
    return _until(
        lambda n: f"User: {rng.choice(asked)}\n" if n % 2 == 0 else f"Assistant: {rng.choice(answered)}\n\n"
    )


def headings(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(f"## {rng.choice(('Summary', 'Conclusion', 'Result'))}\n\n{rng.choice(said)}\n\n")


def growing_path(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    part = "/".join(rng.sample(("src", "lib", "node_modules", "dist", "core", "pkg"), rng.randint(2, 3)))
    return _cycle(part + "/")


def call_chain(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(
        rng.choice((".then(r => r.json())", ".unwrap().clone()", ".parent.parent.child", "?.value ?? next"))
    )


def import_list(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    names = rng.sample(("List", "Dict", "Optional", "Union", "Tuple", "Callable", "Any"), rng.randint(2, 5))
    return _until(lambda _: rng.choice(names) + ", ")


def same_assert(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(
        f"    assert normalise({rng.choice(('raw', 'row[0]', 'name'))}) == {rng.choice(('want', 'None'))}\n"
    )


def apologies(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """An apology and one of five file names, drawn each time."""
    names = [f"{one}.{kind}" for one in ("main", "util", "harbour", "sail", "index") for kind in ("ts",)]
    return _until(
        lambda _: f"I apologize for the confusion. Let me try editing `{rng.choice(names)}` again.\n",
        counted=True,
    )


def connectives(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Three sentences behind connectives, both in any order."""
    some, starts = rng.sample(said, 3), ("Wait, ", "But ", "So ", "Hmm, ", "Also, ", "Then ")
    return _until(lambda _: rng.choice(starts) + rng.choice(some) + (end or "\n"))


def clauses(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The parts of two sentences, four to six words each, in any order."""
    words = _parts(rng.choice(said), end, 4) + _parts(rng.choice(said), end, 4)
    some = [end.join(words[at : at + 4]) for at in range(0, len(words), 4)]
    return _until(lambda _: rng.choice(some) + ("," + end if end else "，"))


def losing_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Each copy stops somewhere and the sentence begins anew."""
    parts = _parts(rng.choice(said), end)
    return _until(lambda _: end.join(parts[: rng.randint(len(parts) // 2, len(parts))]) + (end or "…"))


def tail_loop(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence = rng.choice(said).rstrip(".。።۔։")
    tail = end + end.join(_parts(sentence, end)[-3:])
    looped, _onset = _cycle(tail)
    return sentence + looped, len(sentence)


def line_breaks(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(rng.choice(("<br>", "<br/>\n", "</div>\n", "\\n", "</p><p>")))


def diff_lines(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    name = rng.choice(("limit", "depth", "cargo"))
    return _cycle(f"-    {name} = read_{name}(path)\n+    {name} = read_{name}(path, strict=True)\n")


def sprinkled(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence = rng.choice(said)
    return _until(lambda _: sentence + " " + rng.choice(EMOJI) + (end or ""), counted=True)


def loose_blanks(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    parts = _parts(rng.choice(said), end)
    return _until(lambda _: "".join(p + rng.choice((end, end, end, "\n", end * 2)) for p in parts))


def weekdays(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return _cycle(rng.choice((", ", " ", "\n")).join(names) + rng.choice((", ", "\n")))


def small_grammar(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Three beginnings, three middles and three ends of sentences, drawn each time: 27 sentences in all."""
    rows = [_parts(one, end, 5) for one in rng.sample(said, 3)]
    slots = [
        [end.join(row[at * len(row) // 3 : (at + 1) * len(row) // 3]) for row in rows] for at in range(3)
    ]
    return _until(lambda _: end.join(rng.choice(slot) for slot in slots) + (end or "\n"))


def corrections(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One sentence, its words right and wrong by turns; which one is wrong is drawn each time."""
    parts, others = _parts(said[0], end), _parts(said[1], end)

    def say(n: int) -> str:
        at = rng.randrange(len(parts))
        changed = [*parts[:at], rng.choice(others[:4]), *parts[at + 1 :]] if n % 2 else parts
        return ("No, " if n % 2 else "Actually, ") + end.join(changed) + (end or "\n")

    return _until(say, counted=True)


def three_languages(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    at = rng.randrange(6)
    return _cycle("\n".join([said[at], *(one[at] for one in rng.sample(list(_SAID.values()), 2))]) + "\n")


def retries(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The command and its answer, made up by the model; only the attempt counts up."""
    sentence = rng.choice(said)
    return _until(
        lambda n: f"Attempt {n + 1}: running the script again.\nOutput: {sentence}\n\n", counted=True
    )


def same_object(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(
        json.dumps({"op": "replace", "path": "/cargo/0", "value": rng.choice(said)}, ensure_ascii=False)
        + ", "
    )


def glued_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return _cycle(
        "".join(word.strip(".,").capitalize() for word in rng.choice(said).split()[: rng.randint(2, 4)])
    )


_SAID: dict[str, list[str]] = {
    row["script"]: row["sentences"] for row in map(json.loads, SENTENCES.read_text("utf-8").splitlines())
}
_ALL = tuple(_SAID)
_SPACED = tuple(script for script in _ALL if script not in WITHOUT_BLANKS)
_CASED = ("Latin: Italian", "Latin: Finnish", "Cyrillic: Bulgarian", "Greek", "Armenian", "English")
_PLAIN = ("English",) * 6
Channel = Literal["text", "reasoning", "code"]
FAMILIES: dict[str, tuple[Draw, Channel, tuple[str, ...]]] = {
    "counted noises": (counted_noises, "text", _PLAIN),
    "table rows": (table_rows, "text", _ALL[::2]),
    "numbered rows": (numbered_rows, "text", _ALL[1::2]),
    "case drift": (case_drift, "text", _CASED),
    "deeper quotes": (deeper_quotes, "text", _ALL[::3]),
    "echoes": (echoes, "text", _ALL[1::2]),
    "plan restarts": (plan_restarts, "text", _ALL),
    "plan varied": (plan_varied, "reasoning", _ALL[::2]),
    "talks to itself": (talks_to_itself, "text", _ALL),
    "headings": (headings, "text", _ALL[::2]),
    "growing path": (growing_path, "code", _PLAIN),
    "call chain": (call_chain, "code", _PLAIN),
    "import list": (import_list, "code", _PLAIN[:5]),
    "same assert": (same_assert, "code", _PLAIN),
    "apologies": (apologies, "text", _PLAIN),
    "connectives": (connectives, "reasoning", _ALL),
    "clauses": (clauses, "text", _ALL[1::2]),
    "losing words": (losing_words, "text", _ALL),
    "tail loop": (tail_loop, "text", _ALL),
    "line breaks": (line_breaks, "text", _PLAIN),
    "diff lines": (diff_lines, "code", _PLAIN[:4]),
    "sprinkled": (sprinkled, "text", _ALL[::2]),
    "loose blanks": (loose_blanks, "text", _ALL[1::2]),
    "weekdays": (weekdays, "text", _PLAIN[:4]),
    "small grammar": (small_grammar, "reasoning", _ALL[::2]),
    "corrections": (corrections, "reasoning", _ALL[1::2]),
    "three languages": (three_languages, "text", _ALL[::3]),
    "retries": (retries, "text", _ALL[1::3]),
    "same object": (same_object, "code", _ALL[::3]),
    "glued words": (glued_words, "text", _SPACED[::3]),
}


def fourth(seed: str = SEED) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit."""
    for family, (draw, channel, kinds) in FAMILIES.items():
        for number, script in enumerate(kinds):
            rng = random.Random(f"{seed}/{family}/{script}/{number}")
            before = "".join(rng.sample(OPENINGS, rng.randint(1, 3)))
            looped, onset = draw(rng, _SAID[script], "" if script in WITHOUT_BLANKS else " ")
            cut = rng.random() < CUT_SHARE
            if cut:
                looped = looped[: max(rng.randint(900, 2200), 4 * onset)]
            name, reason = f"{family}/{script}/{number}", "length" if cut else None
            yield Loop(name, family, script, before + looped, len(before) + onset, channel, reason)
