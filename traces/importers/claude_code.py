"""Claude Code session files, with their subagents, compactions and rewinds.

Each response (`message.id`, streamed as several lines) is one turn. Its context is the path of `parentUuid` from its
first line back to the root or the last compaction, with the parallel siblings of every response on that path.
Projection P: keeps texts, thinking with signatures, calls (argument text re-serialised: the file holds the value),
results with error flag in recorded order, images, compaction summaries, abandoned branches and unknown records. Drops
the screen's twins of what the model saw: `toolUseResult`, `progress`, snapshots, hooks, durations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from replayer.traces.importers.anthropic import assistant_block, content_of, usage_of
from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Thread, Times

_SCREEN_ONLY = frozenset(
    {"progress", "file-history-snapshot", "queue-operation", "summary", "last-prompt", "pr-link"}
)
_KEPT_OF_A_REPLY = ("model", "usage", "stop_reason")
_SYSTEM_PROMPT = (
    "Claude Code records neither system prompt nor tool definitions; `--profile claude-code` fills both"
)


class ClaudeCode:
    format: ClassVar[str] = "claude-code"
    fidelity: ClassVar[Fidelity] = Fidelity(
        text="recorded", arguments="derived", timing="derived", usage="recorded", boundaries="recorded"
    )
    experimental: ClassVar[bool] = False

    def matches(self, probe: Probe) -> bool:
        if probe.shape not in ("jsonl", "json"):
            return False
        return any(_is_line(record) for record in probe.head if isinstance(record, dict))

    def sessions(self, probe: Probe) -> Iterator[Session]:
        yield Session(lambda builder: _Reader(builder).read(probe))


def _is_line(record: dict[str, Any]) -> bool:
    if record.get("type") not in ("user", "assistant"):
        return False
    message = record.get("message")
    return isinstance(message, dict) and (
        "uuid" in record and "sessionId" in record and "parentUuid" in record
    )


@dataclass(slots=True)
class _Response:
    """One API response while its blocks arrive."""

    thread: str
    order: int
    context: list[int]
    items: list[int] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    message: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    ended: float | None = None
    written: bool = False


@dataclass(slots=True)
class _Node:
    """One line on the graph: what it adds to a context, or the response that it belongs to."""

    parent: _Node | None
    items: tuple[int, ...] = ()
    response: _Response | None = None
    answers: tuple[str, ...] = ()


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.nodes: dict[str, _Node] = {}
        self.last: dict[str, _Node | None] = {}
        self.clock: dict[str, float | None] = {}
        self.responses: dict[tuple[str, str], _Response] = {}
        self.open: dict[str, _Response] = {}
        self.results: dict[str, tuple[int, int]] = {}
        self.dropped: dict[str, int] = {}
        self.failures = 0
        self.order = 0
        self.starters: dict[str, str] = {}
        self.paths: dict[str, _Path] = {}

    def read(self, probe: Probe) -> None:
        builder = self.builder
        builder.describe(agent="claude-code")
        builder.warn(_SYSTEM_PROMPT)
        session = self._file(probe)
        for path in _subagent_files(probe.path, session):
            extra = Probe(path)
            try:
                self._file(extra)
            finally:
                extra.close()
        for response in self.open.values():
            self._write(response)
        self._threads()
        builder.remember(screen_records_dropped=self.dropped or None, api_errors=self.failures or None)
        if self.failures:
            builder.warn(f"replies made up by the client for API errors, which are no turns: {self.failures}")

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

    def _line(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        thread = _thread_of(record)
        if kind == "assistant" and isinstance(record.get("message"), dict):
            self._assistant(record, thread)
        elif kind == "user" and isinstance(record.get("message"), dict):
            self._user(record, thread)
        elif kind == "system":
            self._system(record, thread)
        elif isinstance(kind, str) and kind in _SCREEN_ONLY:
            self.dropped[kind] = self.dropped.get(kind, 0) + 1
            self._note_title(record)
            self._link(record, thread, _Node(self._parent(record, thread)))
        else:
            self.builder.opaque(record)
            self._link(record, thread, _Node(self._parent(record, thread)))

    def _note_title(self, record: dict[str, Any]) -> None:
        if record.get("type") == "summary" and self.builder.header.title is None:
            self.builder.describe(title=opt_str(record.get("summary")))

    def _parent(self, record: dict[str, Any], thread: str) -> _Node | None:
        """The line before. A parent that is not in the file is taken as the line above of the same thread."""
        if "parentUuid" in record and record["parentUuid"] is None:
            return None
        found = self.nodes.get(as_str(record.get("parentUuid")))
        return found if found is not None else self.last.get(thread)

    def _link(self, record: dict[str, Any], thread: str, node: _Node) -> None:
        key = record.get("uuid")
        if isinstance(key, str):
            self.nodes[key] = self.last[thread] = node
        elif isinstance(key := record.get("messageId"), str):
            self.nodes[key] = node

    def _system(self, record: dict[str, Any], thread: str) -> None:
        if record.get("subtype") == "compact_boundary":
            self._link(record, thread, _Node(None))
            return
        self.dropped["system"] = self.dropped.get("system", 0) + 1
        self._link(record, thread, _Node(self._parent(record, thread)))

    def _user(self, record: dict[str, Any], thread: str) -> None:
        content = record["message"].get("content")
        results, rest = _results_apart(content)
        items = [self._result(block, record) for block in results]
        if record.get("isCompactSummary"):
            node = _Node(None, (self.builder.compaction(_plain(content)),))
        else:
            said = content if isinstance(content, str) else rest
            if said and not record.get("isVisibleInTranscriptOnly"):
                items.append(self.builder.user(content_of(said)))
            answers = tuple(as_str(block.get("tool_use_id")) for block in results)
            node = _Node(self._parent(record, thread), tuple(items), answers=answers)
        self._link(record, thread, node)
        self.clock[thread] = epoch(record.get("timestamp")) or self.clock.get(thread)
        self._describe(record)

    def _result(self, block: dict[str, Any], record: dict[str, Any]) -> int:
        call_id = as_str(block.get("tool_use_id"))
        agent = as_dict(record.get("toolUseResult")).get("agentId")
        if isinstance(agent, str):
            self.starters[agent] = call_id
        item = self.builder.result(
            call_id, content_of(block.get("content")), is_error=block.get("is_error") is True
        )
        if call_id not in self.results:
            self.results[call_id] = (self.order, item)
            call = self.builder.call_item(call_id)
            if call is not None:
                self.builder.tool_run(call, item, ended=epoch(record.get("timestamp")))
        return item

    def _assistant(self, record: dict[str, Any], thread: str) -> None:
        message = as_dict(record["message"])
        parent = self._parent(record, thread)
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            self.failures += 1
            self.builder.opaque(record)
            self._link(record, thread, _Node(parent))
            return
        key = (thread, as_str(message.get("id")) or as_str(record.get("uuid")) or str(self.order))
        response = self.responses.get(key) or self._begin(key, parent)
        self._take(response, record, message)
        self._link(record, thread, _Node(parent, response=response))

    def _begin(self, key: tuple[str, str], parent: _Node | None) -> _Response:
        thread = key[0]
        if thread in self.open:
            self._write(self.open[thread])
        response = _Response(
            thread, self.order, self._context(thread, parent), started=self.clock.get(thread)
        )
        self.responses[key] = self.open[thread] = response
        return response

    def _take(self, response: _Response, record: dict[str, Any], message: dict[str, Any]) -> None:
        if response.written:
            self.builder.warn(
                "a reply went on after the next had begun; the late part is kept as an opaque record"
            )
            self.builder.opaque(record)
            return
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)
        for block in blocks:
            response.items.append(assistant_block(self.builder, block))
            if block.get("type") == "tool_use":
                response.calls.append(as_str(block.get("id")))
        for key in _KEPT_OF_A_REPLY:
            if (value := message.get(key)) is not None:
                response.message[key] = value
        response.ended = epoch(record.get("timestamp")) or response.ended

    def _context(self, thread: str, leaf: _Node | None) -> list[int]:
        """Items of the path from the root to `leaf`, parallel siblings included."""
        known = self.paths.get(thread)
        path: list[_Node] = []
        node = leaf
        while node is not None and (known is None or node is not known.leaf):
            path.append(node)
            node = node.parent
        if known is None or node is None or known.gaps:
            while node is not None:
                path.append(node)
                node = node.parent
            known = _Path()
        known.extend(reversed(path), self.results)
        known.leaf = leaf
        self.paths[thread] = known
        return known.context(self.results)

    def _write(self, response: _Response) -> None:
        response.written = True
        message = response.message
        started = response.started if response.started != response.ended else None
        self.builder.turn(
            response.context,
            response.items,
            thread=response.thread,
            model=opt_str(message.get("model")),
            usage=usage_of(message.get("usage")),
            times=Times(started=started, ended=response.ended) if response.ended else None,
            finish_reason=opt_str(message.get("stop_reason")),
        )

    def _describe(self, record: dict[str, Any]) -> None:
        header = self.builder.header
        if header.source.version is None:
            self.builder.source(version=opt_str(record.get("version")))
            self.builder.remember(
                session_id=opt_str(record.get("sessionId")), branch=opt_str(record.get("gitBranch"))
            )
            cwd = opt_str(record.get("cwd"))
            self.builder.describe(workspace={"roots": [{"path": cwd}]} if cwd else None)

    def _threads(self) -> None:
        names = {response.thread for response in self.responses.values()} - {"main"}
        for name in sorted(names):
            call = self.builder.call_item(self.starters.get(name, ""))
            self.builder.thread(Thread(id=name, parent="main", parent_call=call))


class _Path:
    """A path on the graph as items: the blocks of a response together, then the results of its calls in recorded order.

    It is extended while the session goes on; `gaps` says that a call was passed over unanswered, so that a result which
    comes later still belongs before what is already there, and the path must be read anew.
    """

    def __init__(self) -> None:
        self.leaf: _Node | None = None
        self.gaps = False
        self._items: list[int] = []
        self._seen: set[int] = set()
        self._waiting: list[str] = []

    def extend(self, nodes: Iterator[_Node], results: Mapping[str, tuple[int, int]]) -> None:
        for node in nodes:
            if node.response is not None:
                self._reply(node.response, results)
            elif node.items:
                # Results of the last response come together, in _settle; what else the line holds comes behind them.
                awaited = {
                    results[call][1] for call in node.answers if call in self._waiting and call in results
                }
                loose = [item for item in node.items if item not in awaited]
                if loose:
                    self._settle(results)
                    self._items += loose

    def context(self, results: Mapping[str, tuple[int, int]]) -> list[int]:
        return [*self._items, *_answers(self._waiting, results)]

    def _reply(self, response: _Response, results: Mapping[str, tuple[int, int]]) -> None:
        if id(response) not in self._seen:
            self._settle(results)
            self._seen.add(id(response))
            self._items += response.items
            self._waiting += response.calls

    def _settle(self, results: Mapping[str, tuple[int, int]]) -> None:
        if self._waiting:
            found = _answers(self._waiting, results)
            self.gaps = self.gaps or len(found) < len(self._waiting)
            self._items += found
            self._waiting.clear()


def _answers(calls: list[str], results: Mapping[str, tuple[int, int]]) -> list[int]:
    found = [results[call] for call in calls if call in results]
    return [item for _, item in sorted(found)]


def _results_apart(content: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """The tool results among the blocks of a user message, and what else it holds."""
    results: list[dict[str, Any]] = []
    rest: list[Any] = []
    for block in as_list(content):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            results.append(block)
        else:
            rest.append(block)
    return results, rest


def _thread_of(record: dict[str, Any]) -> str:
    if not record.get("isSidechain"):
        return "main"
    return as_str(record.get("agentId")) or "sidechain"


def _plain(content: Any) -> str:
    value = content_of(content)
    return value if isinstance(value, str) else "\n".join(as_str(part.get("text")) for part in value)


def _subagent_files(path: Path, session: str | None) -> list[Path]:
    """Transcripts of subagents that lie beside a session (newer: a folder of the session's name)."""
    if session is None or path.name.startswith("agent-"):
        return []
    newer = sorted((path.parent / session / "subagents").glob("agent-*.jsonl"))
    return newer or [p for p in sorted(path.parent.glob("agent-*.jsonl")) if _belongs(p, session)]


def _belongs(path: Path, session: str) -> bool:
    with path.open("rb") as file:
        return session.encode() in file.readline(1 << 16)
