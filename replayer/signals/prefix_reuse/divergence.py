"""Where and why one request stops being a continuation of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import orjson

from replayer.lazy import dataclass
from replayer.signals.prefix_reuse.causes import Cause
from replayer.signals.prefix_reuse.messages import (
    Field,
    excerpt,
    fields,
    is_reasoning,
    role_of,
    tool_names,
)
from replayer.text import shared_start

_PRUNED = re.compile(
    r"(?i)\b(?:clear|prun|truncat|omit|elid|remov|compact|strip|snip|trim|drop|hidden|redact|content too long)"
    r"|\.\.\.|…"
)
_NOTE = re.compile(
    r"\s*[\[<(][^\n]{0,60}\b(?:cleared|pruned|truncated|omitted|removed|compacted|trimmed)\b[^\n]{0,60}[\])>]\s*"
)
"""A whole message that says of itself that it stands for another, which may have been shorter."""
_THINK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request as it was sent: messages as JSON bytes, and the tools as one JSON array."""

    messages: tuple[bytes, ...]
    tools: bytes = b"[]"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between a request and the earlier one that it should continue.

    `offset` counts characters in the text at `path`; `message_index` is None where the difference lies in the
    tools or in a field beside the messages.
    """

    cause: Cause
    message_index: int | None
    path: str
    offset: int
    before: str
    after: str
    detail: str = ""


def diverge(old: Conversation, new: Conversation) -> Divergence | None:
    """None when `new` continues `old`, repeats it, or goes back to an earlier point of it."""
    same = shared_start(old.messages, new.messages)
    heads = 1 if old.messages and new.messages and role_of(new.messages[0]) in ("system", "developer") else 0
    if same < heads:
        return _in_messages(old.messages, new.messages, same)
    if old.tools != new.tools:
        return _in_tools(old.tools, new.tools)
    if same == len(old.messages) or same == len(new.messages):
        return None
    return _in_messages(old.messages, new.messages, same)


def _in_tools(old: bytes, new: bytes) -> Divergence:
    before, after = orjson.loads(old), orjson.loads(new)
    place = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if _raw(a) != _raw(b)), None)
    if place is None:
        place = min(len(before), len(after))
    a = _raw(before[place]) if place < len(before) else ""
    b = _raw(after[place]) if place < len(after) else ""
    offset = shared_start(a, b)
    kind = volatile(a, b, offset)
    cause: Cause = {"clock": "clock_or_date", "random": "random_id_or_hash"}.get(kind or "", "tool_list")  # type: ignore[assignment]
    if sorted(map(_raw, before)) == sorted(map(_raw, after)):
        cause, detail = "tool_list", "the same tools in another order"
    else:
        detail = _tool_change(before, after, place)
    return Divergence(cause, None, f"tools[{place}]", offset, excerpt(a, offset), excerpt(b, offset), detail)


def _tool_change(before: list[object], after: list[object], place: int) -> str:
    gone = set(tool_names(before)) - set(tool_names(after))
    added = set(tool_names(after)) - set(tool_names(before))
    parts = [f"without {', '.join(sorted(gone))}"] if gone else []
    parts += [f"with {', '.join(sorted(added))}"] if added else []
    if not parts:
        same = before[place : place + 1] == after[place : place + 1]
        parts = ["the keys of a schema in another order" if same else "another definition of a tool"]
    return "; ".join(parts)


def _in_messages(old: Sequence[bytes], new: Sequence[bytes], at: int) -> Divergence:
    gone = _dropped(old, new, at)
    if gone is not None:
        return _moved("message_dropped", old, new, at, gone)
    if role_of(old[at]) == role_of(new[at]):
        return edited(old[at], new[at], at)
    if old[at] in new[at + 1 :]:
        return _moved("message_rewritten", old, new, at, "a message was inserted here")
    if at == len(old) - 1:
        return _moved("message_dropped", old, new, at, "the last message of the earlier request is gone")
    return _moved("message_rewritten", old, new, at, "another message stands here")


def _dropped(old: Sequence[bytes], new: Sequence[bytes], at: int) -> str | None:
    """How the rest of the conversation moved up, when it did."""
    reach = min(len(old), len(new))
    if any(old[n] == new[n] for n in range(at + 1, reach)) and role_of(old[at]) == role_of(new[at]):
        return None
    for head, what in ((at, ""), (at + 1, "; a new message stands for them")):
        place = _find(old, new, at + 1, head)
        if place is not None and place > head:
            return f"{place - at} message{'s' * (place - at > 1)} gone from here{what}"
    return None


def _find(old: Sequence[bytes], new: Sequence[bytes], begin: int, head: int) -> int | None:
    """Where in `old`, from `begin` on, the messages `new[head:]` go on; two in a row must agree."""
    if head >= len(new):
        return None
    for place in range(begin, len(old)):
        if (
            old[place] == new[head]
            and old[place + 1 : place + 2] == new[head + 1 : head + 2][: len(old) - place - 1]
        ):
            return place
    return None


def _moved(cause: Cause, old: Sequence[bytes], new: Sequence[bytes], at: int, detail: str) -> Divergence:
    before, after = _body(old[at]), _body(new[at])
    return Divergence(cause, at, f"messages[{at}]", 0, excerpt(before, 0), excerpt(after, 0), detail)


def edited(old: bytes, new: bytes, at: int) -> Divergence:
    """How message `at` differs from what it was."""
    before, after = fields(old), fields(new)
    one, other = _first_field(before, after)
    path = (one or other or Field("content", "")).path
    a, b = one.text if one else "", other.text if other else ""
    offset = shared_start(a, b)
    cause, detail = _edit_cause(role_of(old), path, a, b, offset)
    return Divergence(
        cause, at, f"messages[{at}].{path}", offset, excerpt(a, offset), excerpt(b, offset), detail
    )


def _first_field(before: list[Field], after: list[Field]) -> tuple[Field | None, Field | None]:
    """The first field that differs, missing ones included."""
    ours, theirs = dict(before), dict(after)
    for path in list(dict.fromkeys([*ours, *theirs])):
        if ours.get(path) != theirs.get(path):
            one, other = ours.get(path), theirs.get(path)
            return (
                Field(path, one) if one is not None else None,
                Field(path, other) if other is not None else None,
            )
    return None, None


_BILLING = "x-anthropic-billing-header"
_ATTRIBUTION = "the attribution header of Claude Code (`cch`) has another value in every request"


def _edit_cause(role: str, path: str, a: str, b: str, offset: int) -> tuple[Cause, str]:
    if is_reasoning(path) or _without_thought(a, b):
        return "reasoning_stripped", "reasoning was sent before and is not any more"
    if path.endswith("arguments") and _same_json(a, b):
        return "arguments_reserialised", "equal values, other spacing, escapes or key order"
    kind = volatile(a, b, offset)
    if kind == "clock":
        return "clock_or_date", ""
    if kind == "random" and _BILLING in a[:offset].rpartition("\n")[2]:
        return "attribution_header", _ATTRIBUTION
    if kind == "random" or path.endswith(("].id", "tool_call_id")):
        return "random_id_or_hash", ""
    if role in ("system", "developer"):
        return "system_prompt_edited", ""
    if _is_pruned(a, b):
        return "message_dropped", f"content pruned from {len(a)} to {len(b)} characters"
    return "message_rewritten", ""


def _without_thought(a: str, b: str) -> bool:
    return bool(_THINK.search(a)) and _THINK.sub("", a).strip() == _THINK.sub("", b).strip()


def _is_pruned(a: str, b: str) -> bool:
    """`b` is `a` emptied, cut, with its middle left out, or replaced by a short note that says so."""
    if len(b) >= len(a):
        return bool(_NOTE.fullmatch(b))
    head = shared_start(a, b)
    tail = shared_start(a[head:][::-1], b[head:][::-1])
    note = b[head : len(b) - tail]
    if not a[head : len(a) - tail].strip():
        return False
    return not note.strip() or (len(note) <= 200 and bool(_PRUNED.search(note)))


def _same_json(a: str, b: str) -> bool:
    try:
        return bool(orjson.loads(a) == orjson.loads(b))
    except orjson.JSONDecodeError:
        return "".join(a.split()) == "".join(b.split())


def _body(message: bytes) -> str:
    return " ".join(found.text for found in fields(message)[1:] if found.text)


def _raw(value: object) -> str:
    return orjson.dumps(value).decode()


_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\.?)?"
_CLOCKS = [
    re.compile(pattern)
    for pattern in (
        rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T _]{_TIME}(?:\s?Z|\s?[+-]\d{{2}}:?\d{{2}})?)?",
        r"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b",
        r"\b20\d{6}(?:[T_-]?\d{4,6})?Z?\b",
        rf"\b{_TIME}",
        rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?[ -]{_MONTH}\b(?:[ -]\d{{2,4}})?",
        rf"\b{_MONTH} \d{{4}}\b",
        r"\b\d{1,2}\.? (?:de )?[^\W\d_]{3,12}\.?,? (?:de )?20\d{2}\b",  # 3. März 2026, 3 de mayo de 2026
        r"\d{2,4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|\d{1,2}[時时点]\d{1,2}分(?:\d{1,2}秒)?|\d{4}년 \d{1,2}월 \d{1,2}일",
        rf"\b{_WEEKDAY}\b",
        r"\b1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?\b",
        r"\b\d+(?:\.\d+)? ?(?:s|sec|seconds?|minutes?|min|hours?|days?) (?:ago|elapsed|left|remaining)\b",
        r"(?i)\b(?:uptime|elapsed|timestamp|time|clock|now|today)\W{1,3}\d[\d.:]*",
    )
]
_REACH = 48

_WORD = re.compile(r"[0-9A-Za-z]+(?:[-+/][0-9A-Za-z]+)*=*")
_SECRET = re.compile(r"[0-9A-Za-z+/_-]{16,}={0,2}")
"""Base64 may hold signs that end a word; it is believed behind a label only."""

_PART = re.compile(r"[\w.-]+")
_TEMPORARY = re.compile(
    r"(?:/tmp|/temp|/T|\\Temp|/var/folders/[\w/]{1,60})[/\\][\w./-]{0,40}$", re.IGNORECASE
)
"""What stands before the made-up name of a temporary folder."""

_NUMBERED = re.compile(
    r"(?i)(?:\b|_)(?:id|session|request|req|trace|span|conversation|thread|run|call|seq|sequence)[\"']?[\s:=_#\-]{1,4}$"
)
"""What a plain number counts requests or sessions behind; behind `tokens` it is another matter."""

_UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]{7,}")
_LABEL = re.compile(
    r"(?i)(?:\b|_)(?:id|uuid|guid|nonce|session|request|trace|span|hash|token|sha\d*|md5|salt|seed|key|cch|etag|digest"
    r"|build|commit|checksum|fingerprint|conversation|thread|correlation|run|call)[a-z_]*[\"']?[\s:=_#\-\"']{1,4}$"
)


def volatile(before: str, after: str, offset: int) -> Literal["clock", "random"] | None:
    """What kind of changing value two texts first differ in, at `offset`; None for any other edit."""
    if _clock_at(before, offset) and _clock_at(after, offset):
        return "clock"
    return "random" if _random_at(before, after, offset) else None


def _clock_at(text: str, offset: int) -> bool:
    begin = max(0, offset - _REACH)
    window = text[begin : offset + _REACH]
    place = offset - begin
    return any(
        match.start() <= place < match.end() for pattern in _CLOCKS for match in pattern.finditer(window)
    )


def _random_at(before: str, after: str, offset: int) -> bool:
    return (
        _same_place(_WORD, before, after, offset)
        or _same_place(_SECRET, before, after, offset)
        or _temporary(before, after, offset)
    )


def _temporary(before: str, after: str, offset: int) -> bool:
    old, new = _word_at(_PART, before, offset), _word_at(_PART, after, offset)
    return old is not None and new is not None and bool(_TEMPORARY.search(before[: old.start()][-80:]))


def _same_place(pattern: re.Pattern[str], before: str, after: str, offset: int) -> bool:
    """Whether both texts have a random word about `offset` and go on alike behind it."""
    old, new = _word_at(pattern, before, offset), _word_at(pattern, after, offset)
    if old is None or new is None or before[old.end() : old.end() + 8] != after[new.end() : new.end() + 8]:
        return False
    one, other = old.group(), new.group()
    alike = abs(len(one) - len(other)) <= max(2, len(one) // 8)
    if pattern is _WORD and alike and _looks_random(one) and _looks_random(other):
        return True
    label = before[: old.start()][-40:]
    if one.isdigit() and other.isdigit():
        return bool(_NUMBERED.search(label))
    return bool(_LABEL.search(label)) and min(len(one), len(other)) >= 4


def _word_at(pattern: re.Pattern[str], text: str, offset: int) -> re.Match[str] | None:
    begin = max(0, offset - 80)
    for match in pattern.finditer(text, begin, offset + 200):
        if match.start() <= offset < match.end():
            return match
    return None


def _looks_random(word: str) -> bool:
    """Digits and letters mixed as no name or version is; long plain numbers and hex strings too."""
    if _UUID.fullmatch(word) or (_HEX.fullmatch(word) and any(c.isdigit() for c in word)):
        return True
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(word))
    return len(word) >= 5 and changes >= 2 and any(c.isalpha() for c in word)
