"""Rules of others, re-implemented from their description (no code taken), on pseudo-tokens where they count tokens.

A pseudo-token is up to six letters with the blank before them, up to three digits, up to sixteen times
one symbol, a stretch of blanks, or another character: about four
characters of English, as a BPE tokeniser gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable

PSEUDO_TOKEN = re.compile(r" ?[^\W\d_]{1,6}|\d{1,3}|\s+|([^\w\s])\1{0,15}|.", re.DOTALL)


def token_cycle(text: str, smallest: int, largest: int, count: int) -> int | None:
    """First offset at which the last `count` × p tokens repeat with a period p of `smallest` to `largest` tokens.

    That is what vLLM's `repetition_detection` asks after every token, and llama.cpp's proposal as well.
    """
    matches = list(PSEUDO_TOKEN.finditer(text))
    tokens = [match.group() for match in matches]
    last: dict[str, list[int]] = {}
    runs: dict[int, int] = {}
    for index, token in enumerate(tokens):
        places = last.setdefault(token, [])
        fresh: dict[int, int] = {}
        for place in reversed(places):
            lag = index - place
            if lag > largest:
                break
            if lag >= smallest:
                length = runs.get(lag, 0) + 1
                if length >= lag * (count - 1):
                    return matches[index].end()
                fresh[lag] = length
        runs = fresh
        places.append(index)
        if len(places) > 2 * largest:
            del places[:largest]
    return None


MARKDOWN = re.compile(r"(?m)^\s*(?:```|\|.*\||[*-+]\s|\d+\.\s|#{1,6}\s|>\s|[+-_=*─]{3,}\s*$)")
"""What resets the tracker; the two ranges inside the classes are the original's."""


def gemini_cli(text: str) -> int | None:
    """Gemini CLI's content rule: a window of 50 characters ten times, at most 250 apart on average, ≤ 5 fillers.

    History of 5,000 characters; off inside fences; reset at Markdown structure. Deltas of 24 characters.
    """
    seen: dict[str, list[int]] = {}
    history = ""
    fenced = False
    for start in range(0, len(text), 24):
        delta = text[start : start + 24]
        fences = delta.count("```")
        if fences or MARKDOWN.search(delta):
            fenced = fenced ^ bool(fences % 2)
            seen, history = {}, ""
            continue
        if fenced:
            continue
        history += delta
        if len(history) > 5000:
            history, seen = history[-5000:], {}
        for at in range(max(0, len(history) - 24 - 50), len(history) - 50):
            places = seen.setdefault(history[at : at + 50], [])
            if places and places[-1] >= at:
                continue
            places.append(at)
            if len(places) >= 10 and (at - places[-10]) / 9 <= 250:
                between = {history[a + 50 : b] for a, b in zip(places[-10:], places[-9:], strict=False)}
                if len(between) <= 5:
                    return start + len(delta)
    return None


RULES: dict[str, Callable[[str, str], int | None]] = {
    "vLLM #40097 (1–20 tokens, ×3)": lambda text, channel: token_cycle(text, 1, 20, 3),
    "vLLM #52677 (4–128 tokens, ×4)": lambda text, channel: token_cycle(text, 4, 128, 4),
    "llama.cpp #26039 (16–1024, ×4)": lambda text, channel: token_cycle(text, 16, 1024, 4),
    "Gemini CLI, content loop": lambda text, channel: gemini_cli(text),
}
