"""A recorded session with two subagents: one that the main thread waits for, one that it does not."""

from __future__ import annotations

from pathlib import Path

from replayer.traces.schema import (
    AssistantItem,
    Context,
    Fidelity,
    Header,
    Source,
    SystemItem,
    Thread,
    Times,
    ToolCallItem,
    ToolResultItem,
    Usage,
    UserItem,
)
from replayer.traces.writer import TraceWriter

BEGIN = 1_700_000_000.0
TURNS = (
    # thread, seconds from the beginning: request sent, reply ended
    ("main", 0.0, 0.2),  # calls both subagents
    ("waited", 0.3, 0.5),
    ("unwaited", 0.35, 0.6),
    ("main", 0.9, 1.0),  # has the answer of `waited`
    ("unwaited", 1.1, 1.3),
    ("main", 1.2, 1.4),
)


def write_tree(path: Path, late: str | None = None) -> Path:
    """`late`: what the main thread is told in a turn of its own, after all others."""
    turns = TURNS if late is None else (*TURNS, ("main", 1.6, 1.7))
    header = Header(
        trace_id=path.name.partition(".")[0],
        source=Source(format="made", importer="tests"),
        fidelity=Fidelity(),
    )
    with TraceWriter(path, header) as writer:
        writer.add_thread(Thread(id="main"))
        put = writer.add_item
        system, user = put(SystemItem(id=0, text="You lead.")), put(UserItem(id=0, content="Do both."))
        calls = [
            put(ToolCallItem(id=0, call_id=f"call_{n}", name="agent", arguments=f'{{"task":"{name}"}}'))
            for n, name in enumerate(("waited", "unwaited"))
        ]
        writer.add_thread(Thread(id="waited", parent="main", parent_call=calls[0]))
        writer.add_thread(Thread(id="unwaited", parent="main", parent_call=calls[1]))
        contexts = {"main": [system, user]}
        for name in ("waited", "unwaited"):
            contexts[name] = [
                put(SystemItem(id=0, text=f"You are {name}.")),
                put(UserItem(id=0, content=name)),
            ]
        for number, (thread, sent, ended) in enumerate(turns):
            if number == 3:
                contexts["main"].append(put(ToolResultItem(id=0, call_id="call_0", content="waited is done")))
                contexts["main"].append(put(ToolResultItem(id=0, call_id="call_1", content="started")))
            elif number > 2:
                contexts[thread].append(
                    put(UserItem(id=0, content=late if late and number == 6 else f"go on {number}"))
                )
            produced = (
                calls if number == 0 else [put(AssistantItem(id=0, text=f"Answer {number} of {thread}."))]
            )
            writer.add_turn(
                context=Context(append=tuple(contexts[thread])),
                produced=tuple(produced),
                thread=thread,
                times=Times(started=BEGIN + sent, ended=BEGIN + ended),
                usage=Usage(prompt_tokens=50, completion_tokens=8),
                finish_reason="stop",
            )
            contexts[thread] += produced
    return path
