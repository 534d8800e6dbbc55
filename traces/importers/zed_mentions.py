"""What a mention (@file, @symbol …) becomes in the user message that Zed sends: a link, and an attached block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from replayer.traces.importers.values import as_dict, as_str
from replayer.wire.types import JsonObject

_OPENING = "<context>\nThe following items were attached by the user. They are up-to-date and don't need to be re-read.\n\n"
_SECTIONS = {
    "File": "files",
    "Directory": "directories",
    "Symbol": "symbols",
    "Selection": "selections",
    "GitDiff": "diffs",
    "MergeConflict": "diffs",
    "Thread": "threads",
    "TextThread": "threads",
    "Fetch": "fetched_urls",
    "Rule": "rules",
    "Diagnostics": "diagnostics",
    "TerminalSelection": "selections",
    "Skill": "skills",
}


def link(uri: object) -> str:
    """Markdown link of a mention."""
    kind, fields = _variant(uri)
    path = as_str(fields.get("abs_path") or fields.get("file_path"))
    name = as_str(fields.get("name")) or PurePosixPath(path).name or as_str(fields.get("url")) or kind.lower()
    return f"[@{name}{_lines(fields)}]({_address(kind, path, fields)})"


def context_block(attached: Sequence[tuple[object, str]]) -> str:
    """The block behind the user's text; empty when no mention had content."""
    sections: dict[str, list[str]] = {}
    for uri, content in attached:
        if content:
            kind, fields = _variant(uri)
            sections.setdefault(_SECTIONS.get(kind, "files"), []).append(_body(kind, fields, content))
    if not sections:
        return ""
    order = [name for name in dict.fromkeys(_SECTIONS.values()) if name in sections]
    blocks = [f"<{name}>\n" + "".join(sections[name]) + f"</{_closing(name)}>\n" for name in order]
    return _OPENING + "".join(blocks) + "</context>"


def _closing(section: str) -> str:
    return "user_rules" if section == "rules" else section


def _body(kind: str, fields: JsonObject, content: str) -> str:
    path = as_str(fields.get("abs_path") or fields.get("file_path"))
    if kind in ("File", "Symbol", "Selection", "Directory") and path:
        language = PurePosixPath(path).suffix.lstrip(".")
        return f"```{language} {path}{_lines(fields, 'L')}\n{content}\n```\n"
    title = as_str(fields.get("name")) or as_str(fields.get("url"))
    return f"{title}\n{content}\n" if title else f"{content}\n"


def _variant(uri: object) -> tuple[str, JsonObject]:
    if isinstance(uri, str):
        return uri, {}
    kind = next(iter(as_dict(uri)), "File")
    return kind, as_dict(as_dict(uri).get(kind))


def _lines(fields: JsonObject, prefix: str = "") -> str:
    span = as_dict(fields.get("line_range"))
    start, end = span.get("start"), span.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return ""
    return f"#{prefix}{start + 1}-{end + 1}" if prefix else f" ({start + 1}:{end + 1})"


def _address(kind: str, path: str, fields: JsonObject) -> str:
    if path:
        span = as_dict(fields.get("line_range"))
        start, end = span.get("start"), span.get("end")
        lines = f"#L{start + 1}:{end + 1}" if isinstance(start, int) and isinstance(end, int) else ""
        return f"file://{quote(path)}{lines}"
    if kind == "Fetch":
        return as_str(fields.get("url"))
    return f"zed:///agent/{kind.lower()}/{quote(as_str(fields.get('id') or fields.get('name')))}"
