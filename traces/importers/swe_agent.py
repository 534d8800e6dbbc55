"""SWE-agent `.traj` and mini-swe-agent trajectories.

SWE-agent: where a step holds its `query` (or `messages`), that is the context, exactly, and the reply is what the next
query repeats of it; a step without one was made by the agent itself (an exit). In files without queries the context is
the history before the reply, demonstrations included, as far as no history processor elided observations. A run with
retries is a session per attempt. mini-swe-agent: every assistant message is a turn. Projection P: roles, texts, calls with exact text, call ids; costs and cache marks are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from replayer.traces.chat import Message, split
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder, Sent
from replayer.traces.importers.exchange import usage_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_list, as_str, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Thread, Times
from replayer.wire.types import JsonObject

_KEPT = ("role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content")
_MINI_MARKS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "mswea", "MINI_SWE_AGENT")


class SweAgent(Importer):
    format = "swe-agent"
    fidelity = Fidelity(system="recorded", text="recorded", arguments="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        document = as_dict(probe.document)
        return "messages" not in document and any(map(_is_run, (document, *dicts(document.get("attempts")))))

    def sessions(self, probe: Probe) -> Iterator[Session]:
        document = as_dict(probe.document)
        attempts = [attempt for attempt in dicts(document.get("attempts")) if _is_run(attempt)]
        if not attempts:
            yield Session(_SweAgent(document).write)
        for number, attempt in enumerate(attempts, start=1):
            yield Session(_SweAgent(attempt).write, name=f"attempt-{number}", key=f"attempt-{number}")


def _is_run(document: JsonObject) -> bool:
    steps = document.get("trajectory")
    if not isinstance(steps, list):
        return False
    return isinstance(document.get("history"), list) or any("observation" in s for s in dicts(steps)[:2])


class MiniSweAgent(Importer):
    format = "mini-swe-agent"
    fidelity = Fidelity(system="recorded", text="recorded", arguments="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        document = probe.document
        if isinstance(document, list):
            first = as_str(as_dict(next(iter(document), None)).get("content"))
            return any(mark in first for mark in _MINI_MARKS)
        document = as_dict(document)
        return as_str(document.get("trajectory_format")).startswith("mini-swe-agent") or (
            isinstance(document.get("messages"), list) and "exit_status" in as_dict(document.get("info"))
        )

    def write(self, builder: Builder, probe: Probe) -> None:
        _write_mini(builder, probe.document)


def _sent(builder: Builder, message: Message) -> Sent:
    items, form = split(_plain(message))
    return tuple(builder.add(item) for item in items), form


class _SweAgent:
    def __init__(self, document: JsonObject) -> None:
        self.history = dicts(document.get("history"))
        self.steps = dicts(document.get("trajectory"))
        self.info = as_dict(document.get("info"))
        self.environment = document.get("environment")
        self.main = next((as_str(m.get("agent")) for m in self.history if m.get("agent")), "")

    def write(self, builder: Builder) -> None:
        self.builder = builder
        builder.describe(agent="swe-agent", workspace={"environment": self.environment})
        _remember(builder, self.info)
        builder.warn("SWE-agent records no tool definitions; text-action models have none")
        if any(map(_query, self.steps)):
            self._from_queries()
        else:
            self._from_history()

    def _from_queries(self) -> None:
        replies = [m for m in self.history if m.get("role") == "assistant" and not m.get("is_demo")]
        asked = [step for step in self.steps if _query(step)]
        for step, following in zip(asked, [*asked[1:], {}], strict=True):
            reply = _repeated(step, following) or _matching(replies, step)
            if reply in replies:
                del replies[: replies.index(reply) + 1]
            sent = [_sent(self.builder, message) for message in _query(step)]
            text = as_str(step.get("response"))
            produced: tuple[int, ...] = ()
            if not text and reply is None:
                self.builder.warn("a reply is stored nowhere in the file: its turn has a prompt only")
            else:
                produced, _ = _sent(self.builder, reply or {"role": "assistant", "content": text})
            started = epoch(step.get("timestamp"))
            self.builder.chat_turn(sent, produced, times=Times(started=started) if started else None)
        if len(asked) < len(self.steps):
            self.builder.warn(
                f"steps without a query, which are no LLM calls: {len(self.steps) - len(asked)}"
            )

    def _from_history(self) -> None:
        elided = any(as_str(m.get("content")).startswith("Old environment output") for m in self.history)
        self.builder.warn(
            "the steps hold no `query`: prompts are rebuilt from the history, "
            + ("although observations were elided" if elided else "which is exact unless it was shortened")
            + " while it ran"
        )
        self.builder.fidelity(boundaries="derived")
        sent: dict[str, list[Sent]] = {}
        for message in self.history:
            agent = as_str(message.get("agent")) or self.main
            known = sent.setdefault(agent, [])
            one = _sent(self.builder, message)
            if message.get("role") == "assistant" and not message.get("is_demo"):
                thread = "main" if agent == self.main else agent
                if thread != "main":
                    self.builder.thread(Thread(id=thread, parent="main"))
                self.builder.chat_turn(known, one[0], thread=thread)
            sent[agent] = [*known, one]


def _query(step: JsonObject) -> list[Message]:
    """The messages that a step sent; a step that the agent made up has one empty message."""
    return [m for m in dicts(step.get("query") or step.get("messages")) if m]


def _repeated(step: JsonObject, following: JsonObject) -> Message | None:
    """The reply to a step as the next query repeats it, behind what both queries share."""
    later, place = _query(following), len(_query(step))
    reply = later[place] if place < len(later) else {}
    if reply.get("role") == "assistant" and _text(reply) == as_str(step.get("response")):
        return reply
    return None


def _matching(replies: list[Message], step: JsonObject) -> Message | None:
    """The next reply of the history that says and does what the step did."""
    text, action = as_str(step.get("response")), as_str(step.get("action"))
    return next((r for r in replies if _text(r) == text and as_str(r.get("action"), action) == action), None)


def _text(message: Message) -> str:
    content = message.get("content")
    return as_str(content) or "".join(as_str(part.get("text")) for part in dicts(content))


def _remember(builder: Builder, info: JsonObject) -> None:
    stats = as_dict(info.get("model_stats")) or None
    builder.remember(exit_status=opt_str(info.get("exit_status")), model_stats=stats)


def _plain(message: Message) -> Message:
    """The keys that a client sends; SWE-agent lists the answered calls, of which a tool message has one."""
    kept = {key: message.get(key) for key in _KEPT if message.get(key) is not None or key == "content"}
    ids = [value for value in as_list(message.get("tool_call_ids")) if isinstance(value, str)]
    if ids and "tool_call_id" not in kept:
        kept["tool_call_id"] = ids[0]
    if kept.get("role") not in ("system", "developer", "user", "assistant", "tool"):
        kept["role"] = "user"
    if kept["content"] is None and kept["role"] != "assistant":
        kept["content"] = ""
    return kept


def _write_mini(builder: Builder, document: object) -> None:
    fields = as_dict(document)
    builder.describe(agent="mini-swe-agent")
    builder.source(version=opt_str(fields.get("trajectory_format")))
    _remember(builder, as_dict(fields.get("info")))
    sent: list[Sent] = []
    for message in dicts(document if isinstance(document, list) else fields.get("messages")):
        extra = as_dict(message.get("extra"))
        response = as_dict(extra.get("response"))
        if message.get("role") == "exit":
            builder.opaque(message)
            continue
        one = _sent(builder, message)
        if message.get("role") == "assistant":
            ended = epoch(extra.get("timestamp"))
            builder.chat_turn(
                sent,
                one[0],
                usage=usage_of(response.get("usage")),
                model=opt_str(response.get("model")),
                times=Times(ended=ended) if ended else None,
            )
        sent = [*sent, one]
