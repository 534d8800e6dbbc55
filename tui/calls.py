"""Tool calls as people write them: `$ command`, edits as small diffs, the rest as NAME: VALUE.

Recognised by the arguments' names, not the tool's, so that the tools of any agent read alike.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff

from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.tui.text import Span
from replayer.wire.types import Json

SIGN = "⚒"
REMOVED, ADDED, KEPT, GAP = "  ▎− ", "  ▎+ ", "  ▎  ", "  ▎⋯"
"""What the lines of a diff begin with; the sign tells it without colours too."""

_COMMAND = ("command", "cmd")
_PLACE = ("cd", "workdir", "cwd")
_PATH = ("path", "file_path", "notebook_path", "filename")
_PAIRS = (("old_text", "new_text"), ("old_string", "new_string"), ("old_str", "new_str"))
_NEW = ("content", "file_text", "new_source", "replacement_text")
_PATCH = ("input", "patch")
_CONTEXT_LINES = 2
_DIFF_CHARS = 20_000
"""Longer texts are shown one after the other: comparing lines costs the product of both lengths."""
_VALUE_CHARS = 80

Arguments = Mapping[str, Json]


def parsed(raw: str) -> Json:
    """The arguments, or None where they are not strict JSON: then the text itself is what there is to see."""
    try:
        return parse(raw)
    except NotJson:
        return None


def same_call(name: str | None, raw: str | None) -> str:
    """What is equal for two calls that differ in white space only."""
    value = parsed(raw or "")
    return f"{name} {(raw or '') if value is None else _json(value)}"


def call_text(name: str | None, raw: str | None) -> str:
    """A whole call: a line with its name, then its arguments; the raw text where it is no JSON object."""
    value = parsed(raw or "")
    if not isinstance(value, dict):
        return f"{SIGN} {name}  {raw or ''}".rstrip()
    where = _where(value)
    return "\n".join([f"{SIGN} {name}{f'  {where}' if where else ''}", *body(value)])


def summary(value: object, raw: str) -> str:
    """The arguments in one line."""
    if not isinstance(value, dict):
        return raw[:400]
    rest = list(value)
    words = []
    command = _command(value)
    if command is not None:
        words.append(f"$ {command}")
        rest = [key for key in rest if key not in _COMMAND]
    where = _where(value)
    if where:
        words.append(where)
        rest = [key for key in rest if key not in (*_PATH, *_PLACE)]
    if _changing(value):
        words.append(_change_words(value))
        rest = [key for key in rest if key not in _changing(value)]
    return "  ".join([*words, *(f"{key}={_short(value[key])}" for key in rest)])


def body(value: Arguments) -> list[str]:
    """The arguments in lines, without those that the head line tells."""
    shown = {*_changing(value)}
    lines: list[str] = []
    command = _command(value)
    if command is not None:
        shown |= {*_COMMAND}
        lines += _indented(f"$ {command}", "    ")
    if _where(value):
        shown |= {*_PATH, *_PLACE}
    for key in value:
        if key not in shown:
            lines += _indented(f"{key}: {_whole(value[key])}", "    ")
    return [*lines, *_changes(value)]


def tinted(spans: Iterable[Span]) -> Iterator[Span]:
    """Gives the lines of diffs their colour, where nothing else has marked them."""
    line: list[Span] = []
    for text, style in spans:
        for piece in text.splitlines(keepends=True):
            line.append((piece, style))
            if piece.endswith("\n"):
                yield from _tint(line)
                line = []
    yield from _tint(line)


def line_style(line: str) -> str:
    """The colour of a line of `body`."""
    if line.startswith(REMOVED.rstrip()):
        return "$error"
    return "$success" if line.startswith(ADDED.rstrip()) else ""


def _tint(line: list[Span]) -> Iterator[Span]:
    style = line_style("".join(text for text, _ in line))
    return ((text, own or style) for text, own in line)


def _command(value: Arguments) -> str | None:
    """The shell command; an editor tool has a `command` too, and a path beside it."""
    if _first(value, _PATH) is not None:
        return None
    found = next((value[key] for key in _COMMAND if key in value), None)
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        return (
            found[-1] if found[:2] in (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"]) else shlex.join(found)
        )
    return found if isinstance(found, str) else None


def _where(value: Arguments) -> str:
    """The file, or the folder of a command."""
    path, place = _first(value, _PATH), _first(value, _PLACE)
    return path if path is not None else f"in {place}" if place else ""


def _first(value: Arguments, keys: tuple[str, ...]) -> str | None:
    """The first text among some arguments."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), None)


def _pairs(value: Arguments) -> list[tuple[str, str]]:
    """Old and new text of each edit."""
    edits = value.get("edits")
    found = []
    for edit in edits if isinstance(edits, list) else [value]:
        if isinstance(edit, dict):
            found += [
                (edit[old], edit[new])
                for old, new in _PAIRS
                if isinstance(edit.get(old), str) and isinstance(edit.get(new), str)
            ]
    return found


def _patch(value: Arguments) -> str | None:
    texts = (value[key] for key in _PATCH if isinstance(value.get(key), str))
    return next((text for text in texts if text.startswith(("*** ", "--- ", "diff "))), None)


def _new_text(value: Arguments) -> str | None:
    return _first(value, _NEW) if any(key in value for key in _PATH) else None


def _changing(value: Arguments) -> tuple[str, ...]:
    """Arguments that are shown as a diff."""
    if _pairs(value):
        return ("edits", *(key for pair in _PAIRS for key in pair))
    if _patch(value) is not None:
        return _PATCH
    return _NEW if _new_text(value) is not None else ()


def _changes(value: Arguments) -> list[str]:
    if pairs := _pairs(value):
        return [line for old, new in pairs for line in (GAP, *_diff(old, new))][1:]
    if (patch := _patch(value)) is not None:
        return [_patch_line(line) for line in patch.splitlines()]
    return [ADDED + line for line in (_new_text(value) or "").splitlines()]


def _patch_line(line: str) -> str:
    signs = {"-": REMOVED, "+": ADDED, " ": KEPT}
    return signs[line[0]] + line[1:] if line[:1] in signs else KEPT + line


def _diff(old: str, new: str) -> Iterator[str]:
    if old == new:
        yield f"{KEPT}(old and new text are the same)"
        return
    before, after = old.splitlines(), new.splitlines()
    if len(old) + len(new) > _DIFF_CHARS:
        yield from (REMOVED + line for line in before)
        yield from (ADDED + line for line in after)
        return
    hunks = unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for place, line in enumerate(list(hunks)[2:]):
        if not line.startswith("@@"):
            yield _patch_line(line)
        elif place:
            yield GAP


def _change_words(value: Arguments) -> str:
    """`−3 +12`, the lines that go and come; `±0` where old and new text are the same."""
    lines = _changes(value)
    removed = sum(line.startswith(REMOVED.rstrip()) for line in lines)
    added = sum(line.startswith(ADDED.rstrip()) for line in lines)
    counts = [f"−{removed}" if removed else "", f"+{added}" if added else ""]
    return " ".join(count for count in counts if count) or "±0"


def _short(value: object) -> str:
    text = _whole(value)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"


def _whole(value: object) -> str:
    """Strings as they are, so that code reads as code; everything else as JSON."""
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (RecursionError, ValueError):  # deeper, or a longer number, than Python writes
        return "…"


def _indented(text: str, more: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"  {first}", *(more + line for line in rest)]
