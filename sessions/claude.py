"""Claude Code as the shipped sessions use it: a system prompt of its shape in our words, and short ways to call it."""

from __future__ import annotations

from typing import Any

from sessions.script import Call

ROOT = "/workspace"

SYSTEM = """\
You are a coding agent that works in a terminal. You help the user with software: you read, change, run and explain code \
in the folder that the session was started in.

# Tone

Answer in few words and plain Markdown; the text is shown in a terminal. Say what you found and what you did, not what \
you are about to say. No praise, no emojis, no summary that repeats the change line by line.

# Tasks

- Plan larger tasks with TodoWrite and keep the list true: one item in progress, each marked done when it is.
- Look before you change: search for the symbols, read the files, look at their tests. Follow the style that you find.
- Never assume that a library is there. Never invent what a file holds.
- After a change run the tests, and the linter where there is one. Report failures as they are.
- Do not commit unless you are asked to.

# Tools

- Paths are absolute. Read before you edit; an edit needs the exact text, with its indentation.
- Calls that do not depend on each other go into one message.
- For a search over many files that needs several rounds, start an agent with Task: it has a context of its own and \
reports once. What it reports, you must tell the user yourself where it matters.
- Bash keeps its folder between calls. Do not use it for what Read, Grep, Glob and Edit do better.

<env>
Working directory: {folder}
Is a git repository: no
Platform: linux
</env>
"""

AGENT_SYSTEM = """\
You are an agent that another agent has started to search a code base. You only read: you change no file. Work through \
what you are asked, then report once, with paths and line numbers, everything that the asker needs and nothing else. \
Paths are absolute. Calls that do not depend on each other go into one message.
"""


def system_prompt(folder: str) -> str:
    return SYSTEM.format(folder=f"{ROOT}/{folder}")


def bash(command: str, description: str, timeout: int | None = None) -> Call:
    limit = {} if timeout is None else {"timeout": timeout}
    return Call("Bash", {"command": command, "description": description, **limit})


def read(path: str, **more: Any) -> Call:
    return Call("Read", {"file_path": f"{ROOT}/{path}", **more})


def write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": f"{ROOT}/{path}", "content": content})


def edit(path: str, old: str, new: str, **more: Any) -> Call:
    return Call("Edit", {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new, **more})


def edits(path: str, *pairs: tuple[str, str]) -> Call:
    changes = [{"old_string": old, "new_string": new} for old, new in pairs]
    return Call("MultiEdit", {"file_path": f"{ROOT}/{path}", "edits": changes})


def grep(pattern: str, path: str, **more: Any) -> Call:
    return Call("Grep", {"pattern": pattern, "path": f"{ROOT}/{path}", **more})


def todo(*items: str, done: int) -> Call:
    """The first `done` items are done, the next one is in progress."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(items)
    todos = [
        {"content": item, "status": state, "activeForm": item}
        for item, state in zip(items, states, strict=False)
    ]
    return Call("TodoWrite", {"todos": todos})


def task(description: str, prompt: str, agent: tuple[Any, ...]) -> Call:
    arguments = {"description": description, "prompt": prompt, "subagent_type": "Explore"}
    return Call("Task", arguments, agent=agent)
