"""Writes docs/sessions.md from the sessions themselves.

python -m sessions.describe > docs/sessions.md
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replayer.traces.library import shipped
from replayer.traces.reader import Trace
from replayer.traces.schema import AssistantItem, ReasoningItem, ToolCallItem, ToolResultItem, Turn

WIDTH = 88
HEAD = """\
# The sessions that ship

Each was written with care as a capable agent would act, and each result was produced by really running the call in the
session's workspace, in the sandbox; nothing was edited afterwards. `fidelity` in the trace says so: text, arguments and
boundaries are `authored`, usage is `derived` by counting, times are authored (a server of 4,000 tokens/s of prompt and
60 of generation), and results are recordings.

    python -m sessions.build NAME       # builds a session again from its script and workspace
    python -m sessions.build --check    # the same into a temporary folder, compared with what is shipped

They were recorded with Python 3.11 and, for the front end, Node 24.19. On another Python the tests of a workspace
still pass, while tracebacks and the like read a little differently.

A session's folder holds `session.py` (what the user and the agent say), `workspace/` or `workspace.py` (the files it
begins with), `written/` (longer texts that the agent writes), and what is built from them: `workspace.tar` and
`trace.jsonl`. The trace's header names the packages that the workspace needs, pinned, and the command that passes once
the work is done; `replayer run --mode live --tools sandbox` ends with that command.

Turns, calls and failures (a tool error, an exit code that is not 0, or a time-out) are those of the whole trace.
Tokens are those of the largest prompt as the embedded engine's template writes it, tools included: by the embedded
model (SmolLM2).

"""


@dataclass(frozen=True, slots=True)
class Facts:
    """One session in figures, and a line per turn."""

    name: str
    title: str
    purpose: str
    turns: int
    threads: int
    calls: int
    failures: int
    smollm2: int
    lines: tuple[str, ...]


def facts(path: Path) -> Facts:
    with Trace.open(path) as trace:
        turns = list(trace.turns)
        results = {run.call: failed(trace, run.result, run.exit_code) for run in trace.tool_runs}
        largest = max(turns, key=lambda turn: prompt_tokens(turn))
        return Facts(
            name=trace.header.trace_id,
            title=trace.header.title or "",
            purpose=str(trace.header.meta.get("purpose", "")),
            turns=len(turns),
            threads=len(trace.threads),
            calls=len(results),
            failures=sum(results.values()),
            smollm2=prompt_tokens(largest),
            lines=tuple(line(trace, turn, results) for turn in turns),
        )


def prompt_tokens(turn: Turn) -> int:
    return (turn.usage.prompt_tokens or 0) if turn.usage else 0


def failed(trace: Trace, result: int | None, exit_code: int | None) -> bool:
    item = trace.item(result) if result is not None else None
    if exit_code or not isinstance(item, ToolResultItem):
        return bool(exit_code)
    text = str(item.content)
    return item.is_error or (text.startswith("Command ") and " timed out." in text[:2000])


def line(trace: Trace, turn: Turn, results: dict[int, bool]) -> str:
    items = [trace.item(number) for number in turn.produced]
    said = " ".join(item.text for item in items if isinstance(item, AssistantItem))
    thought = "*thinks* " if any(isinstance(item, ReasoningItem) for item in items) else ""
    calls = [
        f"`{brief(item)}`" + (" ✗" if results.get(item.id) else "")
        for item in items
        if isinstance(item, ToolCallItem)
    ]
    where = f"{turn.id + 1}" if turn.thread == "main" else f"{turn.id + 1} ({turn.thread})"
    return f"| {where} | {prompt_tokens(turn):,} | {thought}{plain(said)} | {', '.join(calls)} |"


def plain(text: str) -> str:
    """The first sentence, on one line, as it can stand in a table."""
    one_line = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return one_line if len(one_line) <= WIDTH else one_line[: WIDTH - 1].rsplit(" ", 1)[0] + " …"


def brief(call: ToolCallItem) -> str:
    value: dict[str, Any] = json.loads(call.arguments)
    keys = ("path", "file_path", "command", "regex", "pattern", "glob", "source_path", "description")
    about = next((str(value[key]) for key in keys if value.get(key)), "")
    about = " ".join(about.removeprefix("/workspace/").split()).replace("|", "¦").replace("`", "'")
    short = about if len(about) <= 40 else about[:39] + "…"
    return f"{call.name} {short}".strip()


def section(one: Facts) -> str:
    threads = f", {one.threads - 1} subagent" if one.threads > 1 else ""
    head = (
        f"## {one.name}\n\n{one.title}. {one.purpose}\n\n"
        f"{one.turns} turns{threads}, {one.calls} calls, {one.failures} failures; largest prompt {one.smollm2:,} tokens.\n\n| turn | prompt | says | calls (✗ failed) |\n|---:|---:|---|---|\n"
    )
    return head + "\n".join(one.lines) + "\n"


def overview(all_of_them: list[Facts]) -> str:
    rows = [
        f"| [{one.name}](#{one.name}) | {one.turns} | {one.calls} | {one.failures} | {one.smollm2:,} |"
        for one in all_of_them
    ]
    head = "| session | turns | calls | failures | largest prompt |\n|---|---:|---:|---:|---:|\n"
    return head + "\n".join(rows) + "\n\n"


def main() -> None:
    found = [facts(path) for path in shipped().values()]
    found.sort(key=lambda one: one.smollm2)
    print(HEAD + overview(found) + "\n".join(section(one) for one in found), end="")


if __name__ == "__main__":
    main()
