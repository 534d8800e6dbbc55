"""Zed agent threads of version 0.3.0 in both of its shapes, and shared threads (version 1.0.0).

Projection P: keeps texts, thinking with signatures, calls with the model's own argument text, results with error flag
and completion order, images, resume marks and compactions. Mentions are written out as Zed sends them (derived).
UI state (scroll position, drafts, speed) is dropped. System prompt, tools and times are not in the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.pieces import anthropic_usage, of_parts
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import (
    as_dict,
    as_list,
    as_str,
    compact,
    dicts,
    opt_str,
)
from replayer.traces.schema import Content, Fidelity, Usage
from replayer.wire.types import JsonObject

RESUME = "Continue where you left off"
COMPACTED = "The previous conversation was compacted. Use this summary as context:\n\n"
KEPT_USER_BYTES = 80_000
"""About how much user text Zed repeats after a compaction (agent crate, thread.rs)."""

FIDELITY = Fidelity(text="recorded", arguments="recorded", usage="derived", boundaries="derived")
_VARIANTS = {"User", "Agent", "Compaction"}


class ZedThread(Importer):
    format = "zed-thread"
    fidelity = FIDELITY

    def matches(self, probe: Probe) -> bool:
        return is_thread(probe.document)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        document = as_dict(probe.document)
        title = opt_str(document.get("title"))
        yield Session(lambda builder: write_thread(builder, document), title=title)


def is_thread(document: object) -> bool:
    """Messages are one variant each; a variant of a later version does not make a thread unreadable."""
    messages = as_list(as_dict(document).get("messages"))
    if not messages:
        return {"title", "messages", "updated_at"} <= as_dict(document).keys()
    head = messages[:64]
    tagged = all(isinstance(m, str) or (isinstance(m, dict) and len(m) == 1) for m in head)
    return tagged and any(m == "Resume" or (isinstance(m, dict) and _VARIANTS & m.keys()) for m in head)


def write_thread(builder: Builder, document: JsonObject, thread: str = "main") -> None:
    """Writes one thread document; the header is described only by the main thread."""
    if thread == "main":
        describe(builder, document, "title")
    _Thread(builder, document, thread).write()


def describe(builder: Builder, document: JsonObject, title: str) -> None:
    """Header facts that every version of a thread has."""
    model = as_dict(document.get("model"))
    builder.describe(agent="zed", title=opt_str(document.get(title)), workspace=workspace(document))
    builder.source(version=opt_str(document.get("version")))
    builder.remember(
        model=opt_str(model.get("model")),
        provider=opt_str(model.get("provider")),
        updated_at=opt_str(document.get("updated_at")),
        profile=opt_str(document.get("profile")),
        thinking_enabled=document.get("thinking_enabled"),
    )
    builder.warn(
        "Zed stores no system prompt, no tool definitions and no times; `--profile zed` fills the first two"
    )


def workspace(document: JsonObject) -> JsonObject | None:
    """The project snapshot (path, commit, diff) that Zed took when the thread began."""
    snapshots = dicts(as_dict(document.get("initial_project_snapshot")).get("worktree_snapshots"))
    keys = {"remote": "remote_url", "commit": "head_sha", "branch": "current_branch", "diff": "diff"}
    roots = []
    for snapshot in snapshots:
        git = as_dict(snapshot.get("git_state"))
        own = {word: git.get(key) for word, key in keys.items()}
        roots.append({"path": snapshot.get("worktree_path"), **own})
    return {"roots": roots} if roots else None


def usage_of(value: object) -> Usage | None:
    """Zed counts like Anthropic: `input_tokens` excludes what came from or went into the cache; zero is omitted."""
    raw = as_dict(value)
    zeros = {"input_tokens": 0, "cache_read_input_tokens": 0}
    found = anthropic_usage({**zeros, **raw}) if raw else None
    return replace(found, raw=raw) if found else None


class _Thread:
    def __init__(self, builder: Builder, document: JsonObject, thread: str) -> None:
        self.builder, self.document, self.name = builder, document, thread
        self.model = opt_str(as_dict(document.get("model")).get("model"))
        self.usage = as_dict(document.get("request_token_usage"))
        self.context: list[int] = []
        self.user_texts: list[tuple[int, int]] = []

    def write(self) -> None:
        messages = as_list(self.document.get("messages"))
        user_id: str | None = None
        for number, message in enumerate(messages):
            if message == "Resume":
                self.context.append(self.builder.user(RESUME))
            elif "User" in as_dict(message):
                user_id = self._user(as_dict(message["User"]))
            elif "Agent" in as_dict(message):
                last = _is_last_of_its_question(messages[number + 1 :])
                self._agent(as_dict(message["Agent"]), self.usage.get(user_id or "") if last else None)
            elif "Compaction" in as_dict(message):
                self._compaction(message["Compaction"])
            else:
                self.builder.opaque(message)
                self.builder.warn(
                    "messages of a kind that replayer does not know are kept, but are in no prompt"
                )

    def _user(self, message: JsonObject) -> str | None:
        content = user_content(self.builder, as_list(message.get("content")))
        if content:
            self.context.append(self.builder.user(content))
            self.user_texts.append((self.context[-1], len(compact(content).encode())))
        return opt_str(message.get("id"))

    def _agent(self, message: JsonObject, usage: object) -> None:
        results = as_dict(message.get("tool_results"))
        produced: list[int] = []
        sent: list[int] = []
        for part in as_list(message.get("content")):
            item, kept = self._part(as_dict(part), results)
            produced.append(item)
            if kept:
                sent.append(item)
        if message.get("reasoning_details") is not None:
            self.builder.opaque({"reasoning_details": message["reasoning_details"]})
        self.builder.turn(
            self.context,
            produced,
            thread=self.name,
            model=self.model,
            usage=usage_of(usage),
            finish_reason="tool_calls" if any(map(self.builder.is_call, produced)) else "stop",
        )
        self.context += sent
        for call_id, result in results.items():
            fields = as_dict(result)
            content, failed = result_content(fields.get("content")), bool(fields.get("is_error"))
            name = opt_str(fields.get("tool_name"))
            self.context.append(self.builder.result(call_id, content, is_error=failed, name=name))

    def _part(self, part: JsonObject, results: JsonObject) -> tuple[int, bool]:
        """The item of one part, and whether later requests repeat it."""
        if "Text" in part:
            return self.builder.assistant(as_str(part["Text"])), True
        if "Thinking" in part:
            thinking = as_dict(part["Thinking"])
            signature = thinking.get("signature")
            opaque = {"signature": signature} if signature else None
            return self.builder.reasoning(as_str(thinking.get("text")), opaque), True
        if "RedactedThinking" in part:
            return self.builder.reasoning("", {"redacted": part["RedactedThinking"]}), True
        if "ToolUse" in part:
            call = as_dict(part["ToolUse"])
            return tool_use(self.builder, call), as_str(call.get("id")) in results
        return self.builder.opaque(part), False

    def _compaction(self, value: object) -> None:
        summary = as_dict(value).get("Summary")
        if not isinstance(summary, str):
            self.builder.opaque({"Compaction": value})
            self.builder.warn("a provider's own compaction is opaque; later contexts keep the full history")
            return
        self.builder.warn(
            "after a compaction Zed repeats about 80 KB of user text; the rebuilt contexts approximate that"
        )
        kept: list[int] = []
        size = 0
        for item, length in reversed(self.user_texts):
            size += length
            if size > KEPT_USER_BYTES:
                break
            kept.insert(0, item)
        self.context = [self.builder.compaction(COMPACTED + summary), *kept]


def _is_last_of_its_question(later: list[object]) -> bool:
    """Zed keeps one usage per user message: that of the last request it led to."""
    kinds = (kind for message in map(as_dict, later) for kind in ("Agent", "User") if kind in message)
    return next(kinds, "User") == "User"


def tool_use(builder: Builder, call: JsonObject) -> int:
    """A call with the model's own text where Zed kept it; `input` may be plain or tagged (sniffed as Zed does)."""
    raw, value = call.get("raw_input"), call.get("input")
    freeform = False
    if isinstance(value, dict) and set(value) == {"type", "value"} and value["type"] in ("json", "text"):
        freeform, value = value["type"] == "text", value["value"]
    arguments = opt_str(raw) or value
    if arguments is not raw:
        builder.fidelity(arguments="derived")
    if call.get("is_input_complete") is False:
        builder.warn("a call was cut off while its arguments streamed; its text is kept as far as it came")
    return builder.call(as_str(call.get("id")), as_str(call.get("name")), arguments, freeform=freeform)


def result_content(value: object) -> Content:
    """One value (old shape) or a list of them (new shape)."""
    return of_parts([_result_part(part) for part in (value if isinstance(value, list) else [value])])


def _result_part(value: object) -> JsonObject:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    folded = {str(key).lower(): part for key, part in as_dict(value).items()}
    if "text" in folded:
        return {"type": "text", "text": as_str(folded["text"])}
    image = as_dict(folded.get("image")) or folded
    if "source" in image:
        return image_part(image["source"])
    return {"type": "text", "text": "" if value is None else compact(value)}


def image_part(source: object) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{as_str(source)}"}}


def user_content(builder: Builder, parts: list[object]) -> Content:
    """Text and images in order, mentions as links, and what they attached behind everything else."""
    result: list[JsonObject] = []
    attached: list[tuple[Any, str]] = []
    for part in map(as_dict, parts):
        if "Text" in part:
            result.append({"type": "text", "text": as_str(part["Text"])})
        elif "Mention" in part:
            mention = as_dict(part["Mention"])
            result.append({"type": "text", "text": link(mention.get("uri"))})
            attached.append((mention.get("uri"), as_str(mention.get("content"))))
        elif "Image" in part:
            result.append(image_part(as_dict(part["Image"]).get("source")))
        else:
            builder.opaque(part)
    if block := context_block(attached):
        builder.warn("attached context is written out in the form that Zed sends, as far as the source tells")
        result.append({"type": "text", "text": block})
    return of_parts(result)


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
    return f"[@{name}{_lines(fields, ' ({}:{})')}]({_address(kind, path, fields)})"


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
    closing = {"rules": "user_rules"}
    blocks = [f"<{name}>\n" + "".join(sections[name]) + f"</{closing.get(name, name)}>\n" for name in order]
    return _OPENING + "".join(blocks) + "</context>"


def _body(kind: str, fields: JsonObject, content: str) -> str:
    path = as_str(fields.get("abs_path") or fields.get("file_path"))
    if kind in ("File", "Symbol", "Selection", "Directory") and path:
        language = PurePosixPath(path).suffix.lstrip(".")
        return f"```{language} {path}{_lines(fields, '#L{}-{}')}\n{content}\n```\n"
    title = as_str(fields.get("name")) or as_str(fields.get("url"))
    return f"{title}\n{content}\n" if title else f"{content}\n"


def _variant(uri: object) -> tuple[str, JsonObject]:
    if isinstance(uri, str):
        return uri, {}
    kind = next(iter(as_dict(uri)), "File")
    return kind, as_dict(as_dict(uri).get(kind))


def _lines(fields: JsonObject, form: str) -> str:
    span = as_dict(fields.get("line_range"))
    start, end = span.get("start"), span.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return ""
    return form.format(start + 1, end + 1)


def _address(kind: str, path: str, fields: JsonObject) -> str:
    if path:
        return f"file://{quote(path)}{_lines(fields, '#L{}:{}')}"
    if kind == "Fetch":
        return as_str(fields.get("url"))
    return f"zed:///agent/{kind.lower()}/{quote(as_str(fields.get('id') or fields.get('name')))}"
