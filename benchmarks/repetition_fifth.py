"""A fifth set of collapses: other families, words and seeds than the four before, committed before a rule was read.

Families are loops whose period grows or moves, loops within the arguments of tools, laughter and signs of many scripts,
and lines that a model says in turn, backwards or in two languages. The sentences of 20 languages and mixtures, in 13
scripts, are our own (`tests/corpus/station_sentences.jsonl`). `onset` is the first character of the second copy, or
of the degenerate part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import accumulate, count, cycle
from pathlib import Path
from typing import Literal

import benchmarks.repetition_fifth_arguments as arguments
from benchmarks.repetition_fifth_arguments import SIZE, Draw, any_order, circle, grow, parts_of
from benchmarks.repetition_loops import Loop

SENTENCES = Path(__file__).parent.parent / "tests" / "corpus" / "station_sentences.jsonl"
SEED = "fifth 31"
WITHOUT_BLANKS = ("Thai", "Lao", "Chinese", "Japanese", "Myanmar")
CUT_SHARE = 0.2
OPENINGS = (
    "The probe answers on port 9100, but the dashboard asks 9090. I changed the scrape target and reloaded it.\n\n",
    "Half of the rows have no owner. They come from the import of March, which skipped the second column. ",
    "```ts\nexport async function read(path: string): Promise<Row[]> {\n  const raw = await fs.readFile(path, 'utf8');\n  return parse(raw);\n}\n```\n\n",
    "What I know so far: it fails on ARM only, and only with more than one worker.\n\n",
    "There are three ways to do this; I take the one that leaves the public names alone. ",
    "1. `make clean`\n2. `make`\n3. `make check`, which took four minutes here\n\nAll of them pass. ",
)
ARGUMENTS = (
    '{"path": "src/station/log.py", "content": "from datetime import date\\n\\n\\ndef read(path):\\n    ',
    '{"command": "cd /srv/app && grep -rn station --include=*.py ',
    '{"query": "select id, name from stations where region = 4 ',
    '{"edits": [{"old": "wind = 0", "new": "wind = None"}], "note": "',
)

# --- loops whose period grows or moves -----------------------------------------------------------------------


def one_word_more(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The first three words, four, … then the sentence anew with the next one behind it."""
    parts = [part for one in said for part in parts_of(one, end)]
    return grow(end.join(parts[: 3 + n % 30]) + "\n" for n in count())


def longer_pauses(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence, mark = rng.choice(said), rng.choice((".", " ", "…", "!", "\n"))
    return grow((sentence + mark * n for n in count(1)), counted=True)


def copies_grow(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A word once, twice, three times, … on a line of its own."""
    word = rng.choice(parts_of(rng.choice(said), end))
    return grow((end.join([word] * n) + "\n" for n in count(1)), counted=True)


def fibonacci(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Two sentences in the order of the Fibonacci word: never periodic."""
    first, second = (one + (end or "\n") for one in rng.sample(said, 2))
    a, b = second, first
    while len(b) < SIZE:
        a, b = b, b + a
    return b, len(first) + len(second)


def there_and_back(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    unit = [*said, *said[-2:0:-1]]
    return circle((end or "\n").join(unit) + (end or "\n"))


def moved_by_one(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Each copy begins one word later and ends with what it skipped."""
    parts = parts_of(rng.choice(said), end)
    turned = (parts[n % len(parts) :] + parts[: n % len(parts)] for n in count())
    return grow((end.join(one) + "\n" for one in turned), counted=True)


def shuffled_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    parts = parts_of(rng.choice(said), end)
    return grow((end.join(rng.sample(parts, len(parts))) + "\n" for _ in count()), counted=True)


def losing_heads(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    parts = parts_of(rng.choice(said), end)
    return grow(
        (end.join(parts[rng.randrange(len(parts) // 2) :]) + (end or "\n") for _ in count()), counted=True
    )


def two_cycles(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The words of two sentences by turns, each in its own circle."""
    first, second = (cycle(parts_of(one, end)) for one in rng.sample(said, 2))
    return grow(next(first) + end + next(second) + end for _ in count())


def deeper_indent(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    tag = rng.choice(('<div class="row">', "if ready:", "- station:", "try {"))
    return grow(("  " * min(n, 60) + tag + "\n" for n in count()), counted=True)


def heading_levels(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence = rng.choice(said)
    return grow(("#" * (1 + n % 6) + f" {sentence}\n\n" for n in count()), counted=True)


# --- signs, laughter, emoji -----------------------------------------------------------------------------------

LAUGHTER = {
    "Thai": "5",
    "Arabic": "ه",
    "Korean": "ㅋ",
    "Hindi": "हा",
    "Japanese": "笑",
    "Chinese": "哈",
    "English": "ha",
    "Serbian": "ха",
    "Danish": "hæ",
}


def laughter(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Runs of any length between blanks."""
    return grow(said[0] * rng.randint(2, 9) + " " for _ in count())


def faces(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pools = (
        ("(^_^)", "(T_T)", "(o_O)", "(-_-)", "(>_<)"),
        ("👩‍🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🧑🏽‍💻"),
        ("🇫🇷", "🇩🇪", "🇯🇵", "🇧🇷", "🇰🇪"),
        ("👍🏻", "👍🏽", "👍🏿", "👏🏾"),
        ("1️⃣", "2️⃣", "3️⃣", "#️⃣"),
        ("¯\\_(ツ)_/¯", "(╯°□°)╯︵ ┻━┻", "┬─┬ノ( º _ ºノ)"),
    )
    return any_order(rng, rng.choice(pools), rng.choice((("",), (" ",), (" ", "\n"))))


def faces_and_words(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Three words of a sentence and six emoji in any order."""
    return any_order(rng, [*parts_of(said[0], " ")[:3], *"🌀🌂🌃🌄🌅🌆"], (" ",))


def unseen_signs(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(
        rng.choice(("\u00a0\u200b", "\u200d\u200c", "a\u0301\u0300 ", "\u202e \u202c", "\ufeff\u2060"))
    )


def rules(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, ("=====\n", "-----\n", "*****\n", "~~~~~\n", "+---+\n"), ("",))


def columns(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(rng.choice(("| --- ", "&nbsp;|", " & ", "\\quad ", "\\frac{1}{", "┌──┐")))


def digits(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    shown, _ = circle(rng.choice(("3", "142857", "09", "1415926535")))
    return "The exact value is 0." + shown, len("The exact value is 0.") + 10


def special_tokens(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pool = ("<|im_end|>", "<|im_start|>", "<|endoftext|>", "assistant", "<eos>", "</s>")
    return any_order(rng, rng.sample(pool, 3), ("\n", ""))


# --- sentences in an order of their own -----------------------------------------------------------------------


def many_languages(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """One sentence in four languages, drawn each time."""
    at = rng.randrange(5)
    return any_order(rng, [one[at] for one in rng.sample(list(SAID.values()), 4)], (" ", "\n"))


def second_thoughts(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    starts = ("Wait, let me reconsider. ", "Actually, no. ", "Let me think again. ", "On second thought: ")
    some = rng.sample(said, 3)
    return grow(rng.choice(starts) + rng.choice(some) + "\n\n" for _ in count())


def check_again(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Four names drawn into two sentences that are said in turn."""
    names = ("read_log", "move_books", "close_all", "write_letter")
    forms = ("Let me check `{0}` again. ", "I see, `{0}` calls `{1}`, so the problem is in `{0}`. ")
    return grow((forms[n % 2].format(*rng.sample(names, 2)) for n in count()), counted=True)


def footnotes(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    sentence, form = rng.choice(said), rng.choice((" [{}] ", "【{}†source】\n", "[^{}]: "))
    return grow((sentence + form.format(n) for n in count(1)), counted=True)


def spelled_numbers(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    ones = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    words = [*ones, *(f"{ten}-{one}" for ten in tens for one in ones[:9])]
    sentence = rng.choice(said)
    return grow((f"Number {words[n % len(words)]}: {sentence}\n" for n in count()), counted=True)


def by_month(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    sentence = rng.choice(said)
    return grow((f"In {months[n % 12]}: {sentence}\n" for n in count()), counted=True)


def address_grows(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    pairs = rng.sample(("page=1", "sort=asc", "limit=50", "lang=en"), rng.randint(1, 3))
    return circle("".join(f"&{pair}" for pair in pairs))


def colours(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return any_order(rng, ("#ff6600", "#0066ff", "#00cc66"), (", ",))


def style_rules(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    rules = ("  margin: 0 auto;\n", "  padding: 0;\n", "  display: flex;\n", "  border: none;\n")
    return any_order(rng, rules, ("",))


def same_test(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle("def test_read_log():\n    assert read_log('a.log') == []\n\n\n")


def quoted_talk(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Two voices, three sentences each, drawn each time."""
    voices = ("— ", "“")
    return grow(voices[n % 2] + rng.choice(said[:3] if n % 2 else said[2:]) + "\n" for n in count())


def asked_in_turn(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle(f"Q: {said[0]}\nA: {said[1]}\n\nQ: {said[2]}\nA: {said[3]}\n\n")


def whole_paragraph(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    return circle((end or "").join(rng.sample(said, 5)) + "\n\n")


def clause_in_front(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """A sentence, each time behind another short one of two."""
    body, fronts = said[0], said[2:4]
    return grow((rng.choice(fronts) + (end or "") + body + (end or "\n") for _ in count()), counted=True)


def fading(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """Copies that lose their last word one by one until one word is left, then that word."""
    parts = parts_of(rng.choice(said), end)
    sizes = accumulate(range(400), lambda size, _: max(1, size - 1), initial=len(parts))
    return grow(end.join(parts[:size]) + (end or "\n") for size in sizes)


def typed_apart(rng: random.Random, said: list[str], end: str) -> tuple[str, int]:
    """The letters of a word apart, again and again."""
    word = max(parts_of(rng.choice(said), end), key=len)
    return circle(" ".join(word) + rng.choice(("  ", "\n", " - ")))


SAID: dict[str, list[str]] = {
    row["script"]: row["sentences"] for row in map(json.loads, SENTENCES.read_text("utf-8").splitlines())
}
_ALL = tuple(SAID)
_SPACED = tuple(script for script in _ALL if script not in WITHOUT_BLANKS)
_PLAIN = ("English",) * 6
Channel = Literal["text", "reasoning", "code"]
FAMILIES: dict[str, tuple[Draw, Channel, tuple[str, ...]]] = {
    "one word more": (one_word_more, "text", _ALL[::2]),
    "longer pauses": (longer_pauses, "text", _ALL[1::2]),
    "copies grow": (copies_grow, "text", _ALL[::2]),
    "Fibonacci": (fibonacci, "text", _ALL),
    "there and back": (there_and_back, "reasoning", _ALL[1::2]),
    "moved by one": (moved_by_one, "text", _ALL[::2]),
    "shuffled words": (shuffled_words, "text", _ALL),
    "losing heads": (losing_heads, "text", _ALL[1::2]),
    "two cycles": (two_cycles, "text", _ALL[::2]),
    "deeper indent": (deeper_indent, "code", _PLAIN),
    "heading levels": (heading_levels, "text", _ALL[1::3]),
    "same flag": (arguments.same_flag, "code", _PLAIN),
    "flags at random": (arguments.flags_at_random, "code", _PLAIN),
    "alternatives": (arguments.alternatives, "code", _PLAIN),
    "alternatives at random": (arguments.alternatives_at_random, "code", _PLAIN),
    "union all": (arguments.union_all, "code", _PLAIN[:4]),
    "paths again": (arguments.paths_again, "code", _PLAIN),
    "nested JSON": (arguments.nested_json, "code", _PLAIN),
    "written lines": (arguments.written_lines, "code", _ALL[::2]),
    "hex bytes": (arguments.hex_bytes, "code", _PLAIN),
    "same record": (arguments.same_record, "code", _ALL[1::2]),
    "laughter": (laughter, "text", tuple(LAUGHTER)),
    "faces": (faces, "text", _PLAIN * 2),
    "faces and words": (faces_and_words, "text", _SPACED[::2]),
    "unseen signs": (unseen_signs, "text", _PLAIN[:5]),
    "rules": (rules, "text", _PLAIN[:4]),
    "columns": (columns, "text", _PLAIN),
    "digits": (digits, "reasoning", _PLAIN[:4]),
    "special tokens": (special_tokens, "text", _PLAIN),
    "many languages": (many_languages, "reasoning", _ALL[::2]),
    "second thoughts": (second_thoughts, "reasoning", _ALL),
    "check again": (check_again, "reasoning", _PLAIN),
    "footnotes": (footnotes, "text", _ALL[1::2]),
    "spelled numbers": (spelled_numbers, "text", _ALL[::3]),
    "by month": (by_month, "text", _ALL[::3]),
    "address grows": (address_grows, "code", _PLAIN[:4]),
    "colours": (colours, "code", _PLAIN[:4]),
    "style rules": (style_rules, "code", _PLAIN[:4]),
    "same test": (same_test, "code", _PLAIN[:3]),
    "quoted talk": (quoted_talk, "text", _ALL[::2]),
    "asked in turn": (asked_in_turn, "text", _ALL[1::2]),
    "whole paragraph": (whole_paragraph, "text", _ALL[::2]),
    "clause in front": (clause_in_front, "text", _ALL[1::2]),
    "fading": (fading, "text", _ALL[::2]),
    "typed apart": (typed_apart, "text", _SPACED[1::2]),
}


def fifth(seed: str = SEED) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit."""
    for family, (draw, channel, kinds) in FAMILIES.items():
        for number, script in enumerate(kinds):
            rng = random.Random(f"{seed}/{family}/{script}/{number}")
            some = rng.sample(OPENINGS, rng.randint(1, 3))
            before = rng.choice(ARGUMENTS) if channel == "code" else "".join(some)
            said = [LAUGHTER[script]] if family == "laughter" else SAID[script]
            looped, onset = draw(rng, said, "" if script in WITHOUT_BLANKS else " ")
            cut = rng.random() < CUT_SHARE
            if cut:
                looped = looped[: max(rng.randint(1000, 2400), 4 * onset)]
            name, reason = f"{family}/{script}/{number}", "length" if cut else None
            yield Loop(name, family, script, before + looped, len(before) + onset, channel, reason)
