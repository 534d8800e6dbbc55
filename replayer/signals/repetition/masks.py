"""A text with what changes in it put away: numbers, identifiers, times, and what stands in quotes or backticks."""

from __future__ import annotations

import re
from functools import lru_cache

SLOT = "\0"
QUOTED = re.compile(r"""("[^"\n]{1,80}"|`[^`\n]{1,80}`|(?<!\w)'[^'\n]{1,80}')""")
NUMBERS = re.compile(r"\d+")
MARKER = re.compile(r"(?m)^([ \t#*(]*)([A-Z]{1,2}|[a-z])([.):]+(?=\s))")
"""A letter that numbers an item."""
EDGE = ".,;:!?()[]{}<>*#\n"


def masked(text: str) -> tuple[str, list[str]]:
    """The text with its slots put away, and what they held."""
    values: list[str] = []
    if '"' not in text and "`" not in text and "'" not in text:
        return _mask_words(text, values), values
    parts = QUOTED.split(text)
    for at, part in enumerate(parts):
        if at % 2:
            values.append(part)
            parts[at] = part[0] + SLOT + part[0]
        else:
            parts[at] = _mask_words(part, values)
    return "".join(parts), values


def template_of(text: str) -> str:
    return masked(text)[0].replace(SLOT, "…")


def _mask_words(text: str, values: list[str]) -> str:
    if MARKER.search(text):
        text = MARKER.sub(lambda found: f"{found[1]}{_number(found[2])}{found[3]}", text)
    words = text.replace("\n", " \n").split(" ")
    for at, word in enumerate(words):
        if word and not (word.isalpha() and word.islower()):
            masked_word, held = _mask(word)
            if held:
                words[at] = masked_word
                values.extend(held)
    return " ".join(words)


def _number(letters: str) -> int:
    """The place of `a`, `B`, `AC` among all of its kind, so that letters count as numbers do."""
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - 64
    return place


@lru_cache(maxsize=4096)
def _mask(word: str) -> tuple[str, tuple[str, ...]]:
    """A word with a digit, an underscore, a slash or a capital within is a slot; beyond ASCII, only its numbers are."""
    core = word.strip(EDGE)
    if not core or (core.isalpha() and (core[1:].islower() or core.isupper() or not core.isascii())):
        return word, ()
    numbers = NUMBERS.findall(core)
    if not core.isascii():
        return NUMBERS.sub(SLOT, word), tuple(numbers)
    if len(numbers) == 2 and core == f"{numbers[0]}/{numbers[1]}":
        return word.replace(core, f"{SLOT}/{SLOT}"), tuple(numbers)
    if core.endswith("%") and core[:-1].isdigit():
        return word.replace(core, f"{SLOT}%"), (core[:-1],)
    if numbers or "_" in core or ("/" in core and len(core) > 3) or core.isalpha():
        return word.replace(core, SLOT), (core,)
    return word, ()
