"""Claude Code session files, with their subagents, compactions and rewinds.

Each response (`message.id`, streamed as several lines) is one turn. Its context is the path of `parentUuid` from its
first line back to the root or the last compaction, with the parallel siblings of every response on that path.
Projection P: keeps texts, thinking with signatures, calls (argument text re-serialised: the file holds the value),
results with error flag in recorded order, images, compaction summaries, abandoned branches and unknown records; from
2.1.3xx on also system prompt and tools (`api-request-shape`) and what the client attached (`rendered`). Drops
the screen's twins of what the model saw: `toolUseResult`, `progress`, snapshots, hooks, durations.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from replayer.traces.chat import tool_schemas
from replayer.traces.compact import Index
from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import SPAWNING, Builder, Prompt
from replayer.traces.importers.claude_files import subagent_files
from replayer.traces.importers.claude_graph import NONE, Branch, Graph, Reply
from replayer.traces.importers.claude_rewrites import Rewrites
from replayer.traces.importers.pieces import (
    anthropic_usage,
    assistant_block,
    blocks_of,
    content_of,
    own_result,
    text_of,
)
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Thread, Times
from replayer.wire.types import JsonObject

_SCREEN_ONLY = frozenset(
    {"progress", "file-history-snapshot", "queue-operation", "summary", "last-prompt", "pr-link"}
)
_GRAPH = frozenset({"uuid", "sessionId", "parentUuid"})
_BEFORE = {
    "summary": frozenset({"summary", "leafUuid"}),
    "file-history-snapshot": frozenset({"messageId", "snapshot"}),
    "queue-operation": frozenset({"operation", "sessionId"}),
}
_KEPT_OF_A_REPLY = ("model", "usage", "stop_reason")
_SYSTEM_PROMPT = (
    "Claude Code records neither system prompt nor tool definitions nor the reminders that it adds; "
    "`--profile claude-code` fills the first two"
)
_BEGUN = (
    "the first line goes on from one that the file does not hold: the prompts lack what was said before it"
)
_ATTACHED = "what the client attached to messages stands behind them; where in the prompt it was sent is not in the source"


class ClaudeCode(Importer):
    format = "claude-code"
    fidelity = Fidelity(
        text="recorded", arguments="derived", timing="derived", usage="recorded", boundaries="recorded"
    )

    def matches(self, probe: Probe) -> bool:
        if probe.shape not in ("jsonl", "json"):
            return False
        return any(_is_line(record) for record in probe.head if isinstance(record, dict))

    def write(self, builder: Builder, probe: Probe) -> None:
        _Reader(builder).read(probe)


def _is_line(record: JsonObject) -> bool:
    """A message of the graph; or, since those may begin far down, one of the lines that stand before the first."""
    if record.get("type") in ("user", "assistant"):
        return isinstance(record.get("message"), dict) and record.keys() >= _GRAPH
    kind = record.get("type")
    return record.keys() >= _GRAPH or (isinstance(kind, str) and _BEFORE.get(kind, _GRAPH) <= record.keys())


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.graph = Graph()
        self.rewrites = Rewrites(builder, self.graph)
        self.last: dict[str, int] = {}
        """The last line of each thread."""
        self.clock: dict[str, float | None] = {}
        self.replies = Index()
        self.count = 0
        """Replies that have begun."""
        self.threads: set[str] = set()
        self.open: dict[str, Reply] = {}
        self.dropped: dict[str, int] = {}
        self.failures = 0
        self.order = 0
        self.starters: dict[str, str] = {}
        self.prompts: dict[str, str] = {}
        """Calls that start a subagent, by the prompt that they carry."""
        self.callers: dict[str, str] = {}
        """The thread of each of those calls."""
        self.parts: dict[str, list[str]] = {}
        """By subagent, the calls that started it and that went on with it: a thread each."""
        self.sides: dict[str, str] = {}
        self.system: list[int] = []
        self.tool_set: str | None = None
        self.unrendered = 0
        self.unprompted = 0
        self.paths: dict[str, Branch] = {}

    def read(self, probe: Probe) -> None:
        builder = self.builder
        builder.describe(agent="claude-code")
        session = self._file(probe)
        for path in subagent_files(probe.path, session):
            with closing(Probe(path)) as extra:
                self._file(extra)
        for reply in self.open.values():
            self._write(reply)
        self._threads()
        builder.remember(screen_records_dropped=self.dropped or None, api_errors=self.failures or None)
        self._explain()

    def _explain(self) -> None:
        builder = self.builder
        if self.tool_set is None:
            builder.warn(_SYSTEM_PROMPT)
        if self.unrendered:
            builder.warn(
                f"attachments whose text the prompts lack, because it is not in the source: {self.unrendered}"
            )
        if self.unprompted:
            builder.warn(f"replies to a prompt that the file does not hold: {self.unprompted}")
        if self.failures:
            builder.warn(
                f"replies made up by the client for API errors, which are not turns: {self.failures}"
            )

    def _file(self, probe: Probe) -> str | None:
        session: str | None = None
        for _, record in probe.records():
            self.order += 1
            if not isinstance(record, dict):
                self.builder.opaque(record)
                continue
            session = session or opt_str(record.get("sessionId"))
            self._line(record)
        return session

    def _line(self, record: JsonObject) -> None:
        kind = record.get("type")
        thread = self._thread_of(record)
        if kind == "assistant" and isinstance(record.get("message"), dict):
            self._assistant(record, thread)
        elif kind == "user" and isinstance(record.get("message"), dict):
            self._user(record, thread)
        elif kind == "system":
            self._system(record, thread)
        elif kind == "attachment":
            self._attachment(record, thread)
        elif kind == "content-replacement":
            self.rewrites.replaced(record)
        elif kind == "api-request-shape":  # of the requests that follow
            shape = as_dict(record.get("shape"))
            texts = (as_str(part.get("text")) for part in dicts(shape.get("system")))
            self.system = [self.builder.system(text) for text in texts]
            self.tool_set = self.builder.tools(tool_schemas(shape.get("tools")))
        elif isinstance(kind, str) and kind in _SCREEN_ONLY:
            self.dropped[kind] = self.dropped.get(kind, 0) + 1
            if kind == "summary" and self.builder.header.title is None:
                self.builder.describe(title=opt_str(record.get("summary")))
            self._link(record, thread)
        else:
            self.builder.opaque(record)
            self._link(record, thread)

    def _thread_of(self, record: JsonObject) -> str:
        """Subagents have an id; before 2.0.6x a side line of the same file is one from its root on."""
        if not record.get("isSidechain"):
            return "main"
        if agent := as_str(record.get("agentId")):
            return self._part_of(agent, record)
        parent = record.get("parentUuid")
        thread = self.sides.get(parent) if isinstance(parent, str) else None
        if thread is None:
            number = len(set(self.sides.values())) + 1
            thread = f"sidechain-{number}" if number > 1 else "sidechain"
            said = as_dict(record.get("message")).get("content")
            self.starters.setdefault(thread, self.prompts.get(said, "") if isinstance(said, str) else "")
        self.sides[as_str(record.get("uuid"))] = thread
        return thread

    def _part_of(self, agent: str, record: JsonObject) -> str:
        """A subagent that is resumed goes on as a thread of its own: another call of its parent waits for that part."""
        said, calls = as_dict(record.get("message")).get("content"), self.parts.setdefault(agent, [])
        call = self.prompts.get(said) if isinstance(said, str) and record.get("type") == "user" else None
        if call is not None and call not in calls:
            calls.append(call)
            self.starters[_part(agent, len(calls))] = call
        return _part(agent, len(calls))

    def _attachment(self, record: JsonObject, thread: str) -> None:
        """What the client put into the prompt beside a message; its text is kept since 2.1.3xx only."""
        texts = [as_str(part.get("content")) for part in dicts(record.get("rendered"))]
        add = self.builder.system if record.get("renderedRole") == "system" else self.builder.user
        items = tuple(add(text) for text in texts if text)
        if items:
            self.builder.warn(_ATTACHED)
        else:
            kind = as_dict(record.get("attachment")).get("type")
            self.unrendered += "rendered" not in record and kind != "prompt_snapshot"
            self.builder.opaque(record)
        self._link(record, thread, items)

    def _parent(self, record: JsonObject, thread: str) -> int:
        """The line before. A parent that is not in the file is taken as the line above of the same thread."""
        if "parentUuid" in record and record["parentUuid"] is None:
            return NONE
        found = self.graph.find(as_str(record.get("parentUuid")))
        if found == NONE and thread not in self.last and "parentUuid" in record:
            self.builder.warn(_BEGUN)
        return found if found != NONE else self.last.get(thread, NONE)

    def _link(
        self,
        record: JsonObject,
        thread: str,
        items: Sequence[int] = (),
        *,
        root: bool = False,
        reply: int = NONE,
        answers: Sequence[int] = (),
    ) -> None:
        key, message = record.get("uuid"), record.get("messageId")
        name = key if isinstance(key, str) else message
        if not isinstance(name, str):
            return
        parent = NONE if root else self._parent(record, thread)
        line = self.graph.link(name, parent, items, reply, answers)
        if isinstance(key, str):
            self.last[thread] = line

    def _system(self, record: JsonObject, thread: str) -> None:
        kind = record.get("subtype")
        if kind == "compact_boundary":
            self._link(record, thread, root=True)
            self.rewrites.compacted(record)
            return
        self.dropped["system"] = self.dropped.get("system", 0) + 1
        self._link(record, thread)
        if kind == "microcompact_boundary":
            self.rewrites.cleared(record, self.last.get(thread, NONE))

    def _user(self, record: JsonObject, thread: str) -> None:
        content = record["message"].get("content")
        results, rest = _results_apart(content)
        items = [self._result(block, record) for block in results]
        if record.get("isCompactSummary"):
            summary = self.builder.compaction(text_of(content_of(content)))
            self._link(record, thread, (summary,), root=not self.rewrites.follows(record))
            self.rewrites.linked(record)
        else:
            said = content if isinstance(content, str) else rest
            if said and not record.get("isVisibleInTranscriptOnly"):
                items.append(self.builder.user(content_of(said)))
            answers = [self.builder.call_number(as_str(block.get("tool_use_id"))) for block in results]
            self._link(record, thread, items, answers=answers)
        self.clock[thread] = epoch(record.get("timestamp")) or self.clock.get(thread)
        self._describe(record)

    def _result(self, block: JsonObject, record: JsonObject) -> int:
        call_id = as_str(block.get("tool_use_id"))
        agent = as_dict(record.get("toolUseResult")).get("agentId")
        if isinstance(agent, str):
            self.starters.setdefault(agent, call_id)
        content, failed = content_of(block.get("content")), block.get("is_error") is True
        item = self.builder.result(call_id, content, is_error=failed, own=own_result(block))
        if self.graph.answer(self.builder.call_number(call_id), self.order, item):
            call = self.builder.call_item(call_id)
            if call is not None:
                self.builder.tool_run(call, item, ended=epoch(record.get("timestamp")))
        return item

    def _assistant(self, record: JsonObject, thread: str) -> None:
        message = as_dict(record["message"])
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            self.failures += 1
            self.builder.opaque(record)
            self._link(record, thread)
            return
        key = as_str(message.get("id")) or as_str(record.get("uuid")) or str(self.order)
        number = self.replies.add(f"{thread}\n{key}")
        if number == self.count:
            parent = self._parent(record, thread)
            if thread in self.open:
                self._write(self.open[thread])
            self.count += 1
            self.open[thread] = Reply(thread, number, self._prompt(thread, parent), self.clock.get(thread))
            self.graph.begin(self.open[thread])
        reply = self.graph.open.get(number)
        if reply is None:
            self.builder.warn(
                "a reply went on after the next had begun; the late part is kept as an opaque record"
            )
            self.builder.opaque(record)
        else:
            self._take(reply, record, message)
        self._link(record, thread, reply=number)

    def _take(self, reply: Reply, record: JsonObject, message: JsonObject) -> None:
        for block in blocks_of(message.get("content")):
            reply.items.append(assistant_block(self.builder, block))
            if block.get("type") == "tool_use":
                reply.calls.append(self.builder.call_number(as_str(block.get("id"))))
                if block.get("name") in SPAWNING:
                    prompt = as_str(as_dict(block.get("input")).get("prompt"))
                    self.prompts[prompt] = call = as_str(block.get("id"))
                    self.callers[call] = reply.thread
        for key in _KEPT_OF_A_REPLY:
            if (value := message.get(key)) is not None:
                reply.message[key] = value
        reply.ended = epoch(record.get("timestamp")) or reply.ended

    def _prompt(self, thread: str, leaf: int) -> Prompt:
        """Items of the path from the root to `leaf`, parallel siblings included."""
        known, parents = self.paths.get(thread), self.graph.parents
        lines = array("i")
        line = leaf
        while line != NONE and (known is None or line != known.leaf):
            lines.append(line)
            line = parents[line]
        if known is None or line == NONE or known.gaps:
            while line != NONE:
                lines.append(line)
                line = parents[line]
            known = Branch(self.graph)
        known.extend(reversed(lines))
        known.leaf = leaf
        self.paths[thread] = known
        return known.prompt()

    def _write(self, reply: Reply) -> None:
        self.graph.close(reply)
        message, prompt = reply.message, reply.prompt
        started = reply.started if reply.started != reply.ended else None
        self.unprompted += not (prompt.length or prompt.loose)
        main = reply.thread == "main"
        prompt.lead = tuple(self.system) if main else ()
        self.builder.turn(
            prompt,
            reply.items,
            thread=reply.thread,
            tool_set=self.tool_set if main else None,
            model=opt_str(message.get("model")),
            usage=anthropic_usage(message.get("usage")),
            times=Times(started=started, ended=reply.ended) if reply.ended else None,
            finish_reason=opt_str(message.get("stop_reason")),
        )
        self.threads.add(reply.thread)

    def _describe(self, record: JsonObject) -> None:
        header = self.builder.header
        if header.source.version is None:
            self.builder.source(version=opt_str(record.get("version")))
            self.builder.remember(
                session_id=opt_str(record.get("sessionId")), branch=opt_str(record.get("gitBranch"))
            )
            cwd = opt_str(record.get("cwd"))
            self.builder.describe(workspace={"roots": [{"path": cwd}]} if cwd else None)

    def _threads(self) -> None:
        for name in sorted(self.threads - {"main"}):
            started = self.starters.get(name, "")
            parent, call = self.callers.get(started, "main"), self.builder.call_item(started)
            self.builder.thread(
                Thread(id=name, parent="main" if parent == name else parent, parent_call=call)
            )


def _part(agent: str, number: int) -> str:
    return agent if number < 2 else f"{agent}-{number}"


def _results_apart(content: object) -> tuple[list[JsonObject], list[Any]]:
    """The tool results among the blocks of a user message, and what else it holds."""
    results: list[JsonObject] = []
    rest: list[Any] = []
    for block in as_list(content):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            results.append(block)
        else:
            rest.append(block)
    return results, rest
