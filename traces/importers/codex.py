"""OpenAI Codex CLI rollouts: current ones, and the older form of bare response items.

A turn is one API call: the items between two `token_count` events that report new usage. Until about 0.5x the count
stood before its items, since then behind them; rollouts of 2025 without counts have a `state` line between replies, the
oldest not even that (a run of the model's items up to the first result). After `compacted` the context is the
replacement history. `instructions` are the user's own (AGENTS.md), `base_instructions` the system prompt.
Projection P: keeps messages by role, reasoning with its encrypted form, calls with exact argument text, results in
recorded order, server-side searches (opaque). Drops `event_msg`, the screen's twin, except usage and times. The error
flag is derived from the exit code in a result's text. Tool definitions are not in the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.codex_items import cuts, exit_code, output_content, own_form, usage_of
from replayer.traces.importers.conversation import Conversation
from replayer.traces.importers.pieces import content_of, text_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_str, as_text, compact, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, SystemItem, Times, Usage
from replayer.wire.types import JsonObject

_WRAPPED = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_BARE = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_FAILED = (
    "apply_patch verification failed",
    "exec_command failed",
    "execution error",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
)
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_OUTPUTS = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output"}
)


class Codex(Importer):
    format = "codex"
    fidelity = Fidelity(
        system="recorded",
        text="recorded",
        arguments="recorded",
        timing="derived",
        usage="recorded",
        boundaries="recorded",
    )

    def matches(self, probe: Probe) -> bool:
        head = _unwrapped(probe)
        wrapped = (as_str(r.get("type")) in _WRAPPED and isinstance(r.get("payload"), dict) for r in head)
        return any(wrapped) or _is_bare(head)

    def write(self, builder: Builder, probe: Probe) -> None:
        _Reader(builder, probe).read()


def _unwrapped(probe: Probe) -> list[JsonObject]:
    document = as_dict(probe.document)
    if "session" in document and isinstance(document.get("items"), list):
        return [as_dict(document["session"]), *dicts(document["items"])]
    return [record for record in probe.head if isinstance(record, dict)]


def _is_bare(head: list[JsonObject]) -> bool:
    if len(head) < 2 or "id" not in head[0] or not {"timestamp", "instructions"} & head[0].keys():
        return False
    return any(as_str(record.get("type")) in _BARE for record in head[1:8])


class _Reader:
    def __init__(self, builder: Builder, probe: Probe) -> None:
        self.builder, self.probe = builder, probe
        self.system: list[int] = []
        self.line = Conversation(builder)
        self.users: list[int] = []
        self.model: str | None = None
        self.params: JsonObject = {}
        self.total: object = None
        self.pending: Usage | None = None
        """Usage that was counted before the items it belongs to."""
        self.counts_first: bool | None = None
        self.started: float | None = None
        self.ended: float | None = None
        self.counted = any(_is_count(record) for record in probe.head)
        """The file marks where a reply ends."""
        self.hidden = False
        self.spoken = False
        self.bare = False
        self.gap: int | None = None

    def read(self) -> None:
        self.builder.describe(agent="codex")
        for at, kind, payload in self._records():
            self._record(at, kind, payload)
        self._close(None)
        self._explain()

    def _records(self) -> Iterator[tuple[float | None, str, Any]]:
        document = as_dict(self.probe.document)
        if "session" in document and isinstance(document.get("items"), list):
            yield None, "session_meta", document["session"]
            yield from ((None, "response_item", item) for item in document["items"])
            return
        for number, record in self.probe.records():
            record = as_dict(record)
            at = epoch(record.get("timestamp"))
            kind = as_str(record.get("type"))
            if kind in _BARE and "payload" not in record:
                yield at, "response_item", record
            elif record.get("record_type") == "state":
                yield at, "state", record
            elif not kind and ("instructions" in record or (number == 1 and "id" in record)):
                self.bare = True
                yield at, "session_meta", record
            else:
                yield at, kind, record.get("payload", record)

    def _record(self, at: float | None, kind: str, payload: object) -> None:
        fields = as_dict(payload)
        if kind == "session_meta":
            self._meta(fields)
        elif kind == "turn_context":
            self.model = opt_str(fields.get("model")) or self.model
            effort = fields.get("effort")
            self.params = {"reasoning_effort": effort} if effort else {}
        elif kind == "response_item":
            self._item(at, as_str(fields.get("type")), fields)
        elif kind == "event_msg":
            self._event(fields)
        elif kind == "compacted":
            self._compacted(fields)
        elif kind == "state":
            self.counted = True
            self._close(None)
        else:
            self.builder.opaque({"type": kind, "payload": payload})

    def _meta(self, meta: JsonObject) -> None:
        if self.builder.header.source.version is not None or self.line.context:
            own, of = opt_str(meta.get("id")), ("id", "forked_from_id", "parent_thread_id")
            if own and self.builder.header.meta.get("session_id") not in map(meta.get, of):
                self.builder.warn(
                    f"the file goes on with session {own}: its prompts are read as following the first's"
                )
            return
        self._instructions(opt_str(as_dict(meta.get("base_instructions")).get("text")), meta)
        git = as_dict(meta.get("git"))
        self.builder.source(version=opt_str(meta.get("cli_version")))
        self.builder.remember(
            session_id=opt_str(meta.get("id")),
            user_instructions=opt_str(meta.get("instructions")),
            forked_from=opt_str(meta.get("forked_from_id")),
            provider=opt_str(meta.get("model_provider")),
        )
        root = {"path": meta.get("cwd"), "commit": git.get("commit_hash"), "branch": git.get("branch")}
        self.builder.describe(workspace={"roots": [{**root, "remote": git.get("repository_url")}]})

    def _instructions(self, base: str | None, meta: JsonObject) -> None:
        own = opt_str(meta.get("instructions"))
        if base:
            self.system = [self.builder.system(base)]
            self.line.restart(self.system)
        elif own and self.bare:
            # Wrapped rollouts hold them among the messages; these do not, although they were sent so.
            self.line.restart([self.builder.user(f"<user_instructions>\n\n{own}\n\n</user_instructions>")])

    def _item(self, at: float | None, kind: str, item: JsonObject) -> None:
        if kind == "message" and item.get("role") != "assistant":
            self._said_to_the_model(at, item)
        elif kind in _OUTPUTS:
            self._output(at, item)
        elif kind in ("message", "reasoning", "web_search_call") or kind in _CALLS:
            self._from_model(at, kind, item)
        else:
            self.builder.opaque(item)

    def _said_to_the_model(self, at: float | None, item: JsonObject) -> None:
        self._close(None)
        content = content_of(item.get("content"))
        if item.get("role") in ("developer", "system"):
            role: Literal["system", "developer"] = "developer" if item["role"] == "developer" else "system"
            own = own_form(item)
            said = SystemItem(id=0, text=text_of(content), role=role, cuts=cuts(content), own=own)
            self.line.said(self.builder.add(said))
        else:
            self.users.append(self.builder.user(content, own_form(item)))
            self.line.said(self.users[-1])
        self.started = at

    def _from_model(self, at: float | None, kind: str, item: JsonObject) -> None:
        if self.line.late and not self.counted:
            self._close(None)
        self.line.produced.append(self._model_item(kind, item))
        self.spoken = True
        self.ended = at

    def _model_item(self, kind: str, item: JsonObject) -> int:
        builder = self.builder
        if kind == "message":
            return builder.assistant(text_of(content_of(item.get("content"))), own_form(item))
        if kind == "reasoning":
            return self._reasoning(item)
        if kind == "web_search_call":
            return builder.opaque(item)
        call_id = as_str(item.get("call_id")) or as_str(item.get("id"))
        own = own_form(item)
        if kind == "custom_tool_call":
            patch = as_text(item.get("input"))
            return builder.call(call_id, as_str(item.get("name")), patch, freeform=True, own=own)
        if kind == "local_shell_call":
            return builder.call(call_id, "local_shell", compact(item.get("action")), own=own)
        name = "tool_search" if kind == "tool_search_call" else as_str(item.get("name"))
        return builder.call(call_id, name, item.get("arguments", ""), own=own)

    def _reasoning(self, item: JsonObject) -> int:
        parts = [*dicts(item.get("summary")), *dicts(item.get("content"))]
        text = "\n\n".join(as_str(part.get("text")) for part in parts if part.get("text"))
        secret = item.get("encrypted_content")
        self.hidden = self.hidden or not text
        summary = [as_str(part.get("text")) for part in dicts(item.get("summary"))]
        kept = {"encrypted_content": secret} | ({"summary": summary} if len(summary) > 1 else {})
        if item.keys() - {"type", "summary", "content", "encrypted_content"}:
            kept = item
        return self.builder.reasoning(text, kept if secret else None)

    def _output(self, at: float | None, item: JsonObject) -> None:
        call_id = as_str(item.get("call_id"))
        content = output_content(item)
        code = exit_code(content)
        refused = text_of(content).startswith(_FAILED)
        failed = bool(code) or refused or as_dict(item.get("output")).get("success") is False
        facts: JsonObject = {"own": own_form(item), "ended": at, "exit_code": code}
        self.line.said(self.builder.answer(call_id, content, is_error=failed, **facts))
        self.started = self.started if self.line.produced else at

    def _event(self, event: JsonObject) -> None:
        if event.get("type") == "token_count":
            info = as_dict(event.get("info"))
            total = info.get("total_token_usage")
            if info and total != self.total:
                self.total = total
                self._count(usage_of(info.get("last_token_usage")))
        elif event.get("type") == "turn_aborted":
            self._close(None)

    def _count(self, usage: Usage | None) -> None:
        """Usage of the items before it or behind it: whichever side of the first reply the first count stands on."""
        self.counted = True
        if self.counts_first is None:
            self.counts_first = not self.spoken and self.builder.header.source.version is not None
        if self.counts_first:
            self._close(None)
            self.pending = usage
        else:
            self._close(usage)

    def _compacted(self, payload: JsonObject) -> None:
        self._close(None)
        history = payload.get("replacement_history")
        if isinstance(history, list):
            self.line.restart(self.system)
            for item in dicts(history):
                self._replaced(as_str(item.get("type")), item)
            return
        message = as_str(payload.get("message"))
        self.line.restart([*self.system, *self.users, self.builder.compaction(message)])
        self.builder.warn("a compaction without replacement history: the context is rebuilt from its summary")

    def _replaced(self, kind: str, item: JsonObject) -> None:
        if kind in ("compaction", "compaction_summary"):
            self.builder.warn("a compaction is encrypted: the prompts that follow lack its text")
            self.line.said(self.builder.opaque(item))
        elif (kind == "message" and item.get("role") == "assistant") or kind in _CALLS or kind == "reasoning":
            self.line.said(self._model_item(kind, item))
        else:
            self._item(None, kind, item)

    def _close(self, usage: Usage | None) -> None:
        """Ends the open reply."""
        if not self.line.produced:
            return
        usage, self.pending = usage or self.pending, None
        if usage is not None and self.gap is None and usage.prompt_tokens is not None:
            self.gap = usage.prompt_tokens
        self.line.close(
            model=self.model,
            params=self.params,
            usage=usage,
            times=Times(started=self.started, ended=self.ended) if self.ended else None,
            finish_reason=self.line.ending,
        )
        self.started = self.ended

    def _explain(self) -> None:
        self._correct_fidelity()
        lacking = ["system prompt"] * (not self.system) + ["environment context"] * self.bare
        lacking += ["tool definitions"] + ["encrypted reasoning"] * self.hidden
        first = f" (the first had {self.gap:,} tokens)" if self.gap else ""
        self.builder.warn(
            f"not in the source: {', '.join(lacking)}; rebuilt prompts are smaller than those sent{first}; "
            "`--profile codex` fills system prompt and tools"
        )

    def _correct_fidelity(self) -> None:
        builder = self.builder
        if not self.system:
            builder.fidelity(system="absent")
        if self.gap is None:
            builder.fidelity(usage="absent")
        if self.ended is None:
            builder.fidelity(timing="absent")
        if not self.counted:
            builder.fidelity(boundaries="derived")
            builder.warn(
                "the file does not say where a reply ends: a run of calls up to the first result is one"
            )


def _is_count(record: object) -> bool:
    payload = as_dict(as_dict(record).get("payload"))
    return payload.get("type") == "token_count" and bool(payload.get("info"))
