"""Generated sessions for tests and benchmarks: long, seeded, with parallel calls and failing ones."""

from __future__ import annotations

import random
from pathlib import Path

import orjson

from replayer.traces.schema import (
    AssistantItem,
    Context,
    Fidelity,
    Header,
    ReasoningItem,
    Source,
    SystemItem,
    Times,
    ToolCallItem,
    ToolResultItem,
    ToolRun,
    ToolSchema,
    Turn,
    Usage,
    UserItem,
)
from replayer.traces.writer import TraceWriter

CHARS_PER_TOKEN = 4
_WORDS = [
    "the",
    "parser",
    "reads",
    "a",
    "token",
    "and",
    "returns",
    "None",
    "when",
    "input",
    "ends",
    "so",
    "callers",
    "must",
    "check",
    "for",
    "it",
    "before",
    "they",
    "use",
    "value",
    "index",
    "buffer",
    "stream",
    "header",
    "offset",
    "length",
    "error",
    "test",
    "case",
    "path",
    "file",
    "line",
    "class",
    "method",
    "module",
    "import",
]


def _tool(name: str, **parameters: str) -> ToolSchema:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSchema(name=name, description=f"Generated tool {name}.", parameters=schema)


TOOLS = (
    _tool("edit_file", path="string", old_text="string", new_text="string"),
    _tool("grep", regex="string"),
    _tool("read_file", path="string"),
    _tool("terminal", command="string", cd="string"),
)


def text(random_: random.Random, tokens: int) -> str:
    """About `tokens` tokens (at 4 characters each) of words in lines."""
    words: list[str] = []
    size = 0
    while size < tokens * CHARS_PER_TOKEN:
        words.append(random_.choice(_WORDS) + ("\n" if random_.random() < 0.1 else ""))
        size += len(words[-1]) + 1
    return " ".join(words)


def _arguments(random_: random.Random, name: str, turn: int) -> str:
    path = f"src/module_{random_.randrange(40)}.py"
    values = {
        "read_file": {"path": path},
        "grep": {"regex": random_.choice(_WORDS)},
        "terminal": {"command": f"pytest -q tests/test_{turn}.py", "cd": "project"},
        "edit_file": {
            "path": path,
            "old_text": text(random_, 20),
            "new_text": text(random_, 20),
        },
    }
    return orjson.dumps(values[name]).decode()


class _Session:
    def __init__(self, writer: TraceWriter, turns: int, tokens: int, seed: int) -> None:
        self.writer, self.random = writer, random.Random(seed)
        self.share = max(8, (tokens - 600) // max(1, turns))
        self.tool_set = writer.add_tool_set(TOOLS)
        self.clock = 1_700_000_000.0

    def first(self, task: str) -> tuple[int, ...]:
        return (
            self.writer.add_item(SystemItem(id=0, text="You are a coding agent.\n" + text(self.random, 400))),
            self.writer.add_item(UserItem(id=0, content=f"{task}\n" + text(self.random, 60))),
        )

    def turn(
        self, number: int, last: bool, sent: int, append: tuple[int, ...]
    ) -> tuple[Turn, tuple[int, ...]]:
        """One LLM call and its results: what it produced, and what the next call gets on top."""
        produced, results = self._closing() if last else self._calling(number)
        started = self.clock
        self.clock += 2.0
        context = Context(append=append, base=number - 1 if number else None, keep=sent)
        turn = Turn(id=number, context=context, produced=produced)
        self.writer.add_turn(
            context=context,
            produced=produced,
            tool_set=self.tool_set,
            model="generated-model",
            usage=Usage(prompt_tokens=600 + number * self.share, completion_tokens=40),
            times=Times(started=started, first_token=started + 0.4, ended=started + 1.5),
            finish_reason="stop" if last else "tool_calls",
        )
        return turn, results

    def _closing(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.writer.add_item(AssistantItem(id=0, text="All tests pass now.")),), ()

    def _calling(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        names = self.random.choices([tool.name for tool in TOOLS], k=self.random.choice((1, 1, 1, 2, 3)))
        produced = []
        if self.random.random() < 0.4:
            produced.append(ReasoningItem(id=0, text=text(self.random, 15)))
        if self.random.random() < 0.7:
            produced.append(AssistantItem(id=0, text=text(self.random, 12)))
        ids = [self.writer.add_item(item) for item in produced]
        calls = [
            ToolCallItem(
                id=0,
                call_id=f"call_{number}_{n}",
                name=name,
                arguments=_arguments(self.random, name, number),
            )
            for n, name in enumerate(names)
        ]
        call_ids = [self.writer.add_item(call) for call in calls]
        results = [self._result(call, len(calls)) for call in calls]
        for call, result in zip(call_ids, results, strict=True):
            self.writer.add_tool_run(
                ToolRun(call=call, result=result, started=self.clock + 1.5, ended=self.clock + 1.9)
            )
        return (*ids, *call_ids), tuple(results)

    def _result(self, call: ToolCallItem, parallel: int) -> int:
        failed = self.random.random() < 0.08
        body = f"error: {call.name} failed" if failed else text(self.random, self.share // parallel)
        result = ToolResultItem(id=0, call_id=call.call_id, content=body, name=call.name, is_error=failed)
        return self.writer.add_item(result)


TASK = "Please make the tests pass."


def long_session(
    path: str | Path, *, turns: int = 60, tokens: int = 100_000, seed: int = 0, task: str = TASK
) -> Path:
    """Writes a native trace whose last prompt has about `tokens` tokens (4 characters each); returns its path."""
    path = Path(path)
    header = Header(
        trace_id=f"generated-{turns}-{tokens}-{seed}",
        source=Source(format="generated", importer="tests.generate"),
        fidelity=Fidelity(
            system="authored",
            tools="authored",
            text="authored",
            arguments="authored",
            timing="authored",
            usage="authored",
            boundaries="authored",
        ),
        agent="generated",
        title=f"{turns} turns, about {tokens} tokens",
    )
    with TraceWriter(path, header) as writer:
        session = _Session(writer, turns, tokens, seed)
        append, sent = session.first(task), 0
        for number in range(turns):
            context_length = sent + len(append)
            turn, append = session.turn(number, number == turns - 1, sent, append)
            sent = context_length + len(turn.produced)
    return path
