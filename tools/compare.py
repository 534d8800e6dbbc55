"""Whether a tool's result says the same as the recorded one, once what differs by nature is set aside."""

from __future__ import annotations

import re
from typing import Literal

Comparison = Literal["same", "equivalent", "different"]

MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
CHANGING: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\x1b\[[0-9;?]*[ -/]*[@-~]", ""),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?", "<time>"),
        (rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{MONTH} +\d{{1,2}} +(?:\d\d:\d\d(?::\d\d)?|\d{{4}})"
         r"(?: [A-Z]{3,4})?(?: \d{4})?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b(?:duration|elapsed|took|time)(?:_(?:ns|us|ms|s|secs|seconds))?[ =:]+\d+(?:\.\d+)?", "<duration>"),
        (r"\b\d+m\d+(?:\.\d+)?s\b", "<duration>"),
        (r"\b\d+(?:\.\d+)?(?:e-?\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|min|minutes?)\b", "<duration>"),
        (r"\b0x[0-9a-fA-F]{5,16}\b", "<address>"),
        (r"/(?:tmp|var/tmp|var/folders/\w\w/\w+/T)/[\w.-]*[\w-]*", "<temporary>"),
        (r"\btmp[._]?[A-Za-z0-9_]{6,12}\b", "<temporary>"),
        (r"\b(?:pid|PID)[ =:]*\d+", "<process>"),
        (r"^Chunk ID: \w+$", "Chunk ID: <name>"),
        (r"\bcommit [0-9a-f]{7,40}\b", "commit <hash>"),
        (r"\bindex [0-9a-f]{7,40}\.\.[0-9a-f]{7,40}", "index <hash>"),
        (r"(?<=[ \[])[0-9a-f]{7,12}(?=\] )", "<hash>"),
        (r"(?<=['\"=])(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{24,64}(?=['\"]|$)", "<key>"),
        (r"={3,}|-{3,}|_{3,}", "<rule>"),
        (r"[ \t]+$", ""),
    )
)  # fmt: skip
"""Clock times, durations, addresses, temporary names, process numbers, commit hashes, random keys, rulers padded around them."""

REMINDER = re.compile(r"<system-reminder>[^<]*</system-reminder>")
"""What Claude Code adds to results for the model's eyes only."""


def compare(output: str, recorded: str) -> Comparison:
    """`same` byte for byte, `equivalent` once what changes between any two runs is set aside, else `different`."""
    if output == recorded:
        return "same"
    return "equivalent" if normalised(output) == normalised(recorded) else "different"


def normalised(text: str) -> str:
    """The text with a word in place of everything that no two runs share; lines stay lines."""
    lines = REMINDER.sub("", text.replace("\r\n", "\n")).strip().split("\n")
    return "\n".join(normalised_line(line) for line in lines)


def normalised_line(line: str) -> str:
    for pattern, word in CHANGING:
        line = pattern.sub(word, line)
    return line
