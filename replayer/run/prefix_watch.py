"""The servers of a run: who uses each, who may empty its cache, and what its cache should hold.

What a server holds is worked out in the order in which requests are sent: that of long requests in one thread beside the
loop, that of short ones at once. The sockets are read in another process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from replayer.engines.base import Engine, Tristate, origin
from replayer.engines.starting import Starts
from replayer.errors import EngineUnavailable, ReplayerError
from replayer.lazy import dataclass
from replayer.prefix.growing import Digest
from replayer.prefix.server_watch import Answer, PromptBook, ServerWatch, assistant_message
from replayer.run.isolation import marker
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.traces.schema import Usage
from replayer.wire.first_token import first_generated
from replayer.wire.types import Reply, Request

if TYPE_CHECKING:
    from replayer.plan.schedule import Session
    from replayer.run.lanes import Instance, Lane
    from replayer.run.state import Run

_SHORT = 16 << 10
"""Bytes of requests that are looked at in less time than it takes to wake a thread and to hear from it."""
MOST_PROMPTS, MOST_SECONDS = 512, 15.0
"""Prompts that are asked of an engine before the sessions of a block begin, and the time for it: beyond, all are
estimated."""


@dataclass(slots=True)
class Server:
    """One origin, with all lanes on it. `sessions_in_flight` counts those of all lanes."""

    name: str
    book: PromptBook
    pool: ThreadPoolExecutor
    live: bool
    shared: bool = False
    """Other processes of the run use it too: its cache is theirs as well."""
    lanes: list[str] = field(default_factory=list)
    sessions_in_flight: int = 0
    used: bool = False
    watch: ServerWatch | None = None
    fresh: dict[str, bool] = field(default_factory=dict)
    """By LANE/TRACE/REPEAT whether its parts began on an empty cache."""
    _todo: list[Callable[[ServerWatch], Any]] = field(default_factory=list)
    """What is done with the next thing whose outcome is wanted: waking the thread costs more than some of it."""
    _size: int = 0
    """Bytes of requests in it."""
    _working: Future[Any] | None = None
    """What the thread was given last."""
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    def open(self, instance: Instance) -> None:
        """Begin to watch, once all that the engine knows of the first prompts is in the book."""
        if self.watch is None:
            self.watch = ServerWatch(instance.facts, self.name, self.book, live=self.live)

    async def reset(self, engine: Engine) -> Tristate:
        """Empty the prefix cache if no other session of any lane is using the server; others wait meanwhile."""
        async with self._gate:
            if self.shared or self.sessions_in_flight > 1:
                return "no"
            try:
                done = await engine.reset_cache()
            except EngineUnavailable:
                return "unknown"
            if done == "yes":
                self._do(ServerWatch.reset, time.monotonic_ns())
            return done

    def asked(self, key: str, thread: str, request: Request, *, filler: bool) -> None:
        body, entries, sent = list(request.body), request.entries, time.monotonic_ns()
        self._size += request.content_length
        self._later(
            lambda watch: watch.asked(key, thread, b"".join(body), sent, entries=entries, filler=filler)
        )

    def answered(self, key: str, reply: Reply, usage: Usage | None) -> Future[PrefixFinding | None] | None:
        """To be called before the session's next `asked`; the finding comes when it comes."""
        if reply.fault is not None:
            lost = reply.fault.kind in ("unreachable", "stream_broken")
            self._do(partial(ServerWatch.failed, key=key, at=reply.timing.ended, lost=lost))
            return None
        return self._do(ServerWatch.answered, key, answer_of(reply, usage))

    def ended(self, thread: str) -> None:
        self._later(lambda watch: watch.ended(thread))

    def sampled(self, reader: str, sample: Mapping[str, object]) -> None:
        self._do(ServerWatch.sampled, reader, sample, time.monotonic_ns())

    def _later(self, work: Callable[[ServerWatch], object]) -> None:
        if self.watch is not None:
            self._todo.append(work)

    def _do(self, work: Callable[..., object], *args: object) -> Future[Any] | None:
        """What `work` returns, once all that was put off has been done."""
        if self.watch is None:
            return None
        todo, self._todo = [*self._todo, lambda watch: work(watch, *args)], []
        size, self._size = self._size, 0
        if size > _SHORT or not (self._working is None or self._working.done()):
            self._working = self.pool.submit(_in_turn, todo, self.watch)
            return self._working
        done: Future[Any] = Future()
        try:
            done.set_result(_in_turn(todo, self.watch))
        except Exception as error:  # noqa: BLE001 - for who asks what was found, as from the thread
            done.set_exception(error)
        return done


def _in_turn(todo: Sequence[Callable[[ServerWatch], object]], watch: ServerWatch) -> object:
    for work in todo:
        found = work(watch)
    return found


class Servers:
    """The servers of a run by origin."""

    def __init__(self, *, live: bool, shared: bool = False) -> None:
        self._live, self._shared = live, shared
        self.book = PromptBook()
        self.starts = Starts()
        self._pool = ThreadPoolExecutor(1, "prefix-reuse")
        self._servers: dict[str, Server] = {}

    def of(self, engine: Engine) -> Server:
        name = origin(engine.base_url)
        if name not in self._servers:
            self._servers[name] = Server(name, self.book, self._pool, self._live, self._shared)
        return self._servers[name]

    def join(self, lane: Lane) -> str | None:
        """A lane begins to use its servers; what is to be said where it is not alone on one."""
        said = None
        for instance in lane.instances:
            server = self.of(instance.engine)
            if lane.name not in server.lanes:
                server.lanes.append(lane.name)
            if len(server.lanes) > 1:
                said = (
                    f"lanes {', '.join(server.lanes)} share the server {server.name}: sessions have caches of their own, "
                    "its cache is emptied only while it is idle, its counters are of all of them"
                )
        return said

    def close(self) -> None:
        self._pool.shutdown()


def answer_of(reply: Reply, usage: Usage | None) -> Answer:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    timing = reply.timing
    first = first_generated(
        timing.began,
        timing.first_token,
        timing.ended,
        deltas=len(timing.arrivals),
        tokens=usage.completion_tokens if usage else None,
        call_first=bool(calls) and not (reply.content or reply.reasoning),
    )
    return Answer(
        message=assistant_message(reply.content, reply.reasoning, calls),
        usage=usage,
        sent=reply.timing.sent,
        first=first,
        ended=reply.timing.ended,
        complete=reply.finish_reason is not None,
    )


async def learn_prompts(run: Run, queues: Sequence[Sequence[Session]]) -> None:
    """Ask the engines for the tokens of what is going to be sent, ahead: between turns it would disturb them."""
    wanted: dict[str, list[tuple[Lane, Session]]] = {}
    for queue in queues:
        for session in queue:
            lane = run.lanes[session.lane]
            wanted.setdefault(run.servers.of(lane.instances[0].engine).name, []).append((lane, session))
    for name, sessions in wanted.items():
        server = run.servers.of(sessions[0][0].instances[0].engine)
        first = server.watch is None or name in run.servers.book.complete
        if first and all(_can_be_known(run, lane, session) for lane, session in sessions):
            await _learn(run, name, sessions)
        for lane in {lane.name: lane for lane, _ in sessions}.values():
            for instance in lane.instances:
                await asyncio.to_thread(run.servers.of(instance.engine).open, instance)


def _can_be_known(run: Run, lane: Lane, session: Session) -> bool:
    """The messages are known before they are sent, and the engine gives their tokens."""
    known = run.plan.mode == "recorded" and run.traces.transform is None and len(lane.instances) == 1
    known = known and not run.plan.load.asked  # the marks of sessions to come are not
    if not known or lane.facts.features.get("tokenize") != "yes":
        return False
    history = run.traces.histories[session.trace].over(lane.plan.wire)
    return history.wire == "chat" and not history.is_filler


async def _learn(run: Run, name: str, sessions: Sequence[tuple[Lane, Session]]) -> None:
    book, prompts = run.servers.book, {}
    for lane, session in sessions:
        history = run.traces.histories[session.trace].over(lane.plan.wire)
        tag = run.tag(session, run.schedule.attempts.tried[session.id] + 1)
        marks = (None,) if lane.instances[0].engine.isolation("x") else (None, marker(tag))
        for recorded_turn in history.turns[: run.plan.max_turns]:
            for mark in marks:
                prompts[lane.model, session.trace, recorded_turn, mark] = lane
        if len(prompts) > MOST_PROMPTS:
            return
    due = time.monotonic() + MOST_SECONDS
    for (model, trace, recorded_turn, mark), lane in prompts.items():
        history = run.traces.histories[trace].over(lane.plan.wire)
        messages, tools = history.messages(recorded_turn, marker=mark), history.tools(recorded_turn)
        digest = Digest(model, orjson.dumps(tools))
        digest.add([orjson.dumps(message) for message in messages])
        if book.find(digest) is not None:
            continue
        try:
            async with asyncio.timeout(MOST_SECONDS):
                ids = await lane.instances[0].engine.tokenize(messages, tools or None)
        except (ReplayerError, TimeoutError):
            return
        if not ids or not book.add(digest, ids) or time.monotonic() > due:
            return
    book.complete.add(name)
