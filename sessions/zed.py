"""Zed's agent as the shipped sessions use it: its tools, its system prompt's shape, and short ways to call it.

Names, parameters and types are those that Zed sends; every description is ours.
"""

from __future__ import annotations

from typing import Any

from replayer.traces.schema import ToolSchema
from sessions.script import Call

TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}


def tool(name: str, description: str, required: str, **properties: dict[str, Any]) -> ToolSchema:
    """`required` names the required properties, separated by blanks."""
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return ToolSchema(name=name, description=description, parameters=schema)


def about(words: str, schema: dict[str, Any] = TEXT) -> dict[str, Any]:
    return {**schema, "description": words}


_EDITS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"old_text": TEXT, "new_text": TEXT},
        "required": ["old_text", "new_text"],
    },
}

TOOLS = (
    tool(
        "diagnostics",
        "Errors and warnings of a file, or of the whole project.",
        "",
        path=TEXT,
    ),
    tool(
        "edit_file",
        "Write a whole file, or replace exact pieces of one.",
        "display_description path mode",
        display_description=about("What it does, in a few words."),
        path=TEXT,
        mode={"type": "string", "enum": ["write", "edit"]},
        content=TEXT,
        edits=about("Each old_text must occur exactly once.", _EDITS),
    ),
    tool(
        "find_path",
        "Find files by a glob, 50 to a page.",
        "glob",
        glob=TEXT,
        offset=COUNT,
    ),
    tool(
        "grep",
        "Search file contents by a regular expression, 20 hits to a page.",
        "regex",
        regex=TEXT,
        include_pattern=TEXT,
        offset=COUNT,
        case_sensitive={"type": "boolean"},
    ),
    tool("list_directory", "List the files and folders of a folder.", "path", path=TEXT),
    tool(
        "read_file",
        "Read a file, or the lines from start_line to end_line.",
        "path",
        path=TEXT,
        start_line=COUNT,
        end_line=COUNT,
    ),
    tool(
        "terminal",
        "Run a shell command in folder cd.",
        "command cd",
        command=TEXT,
        cd=TEXT,
        timeout_ms=COUNT,
    ),
)


def read(path: str, start: int | None = None, end: int | None = None) -> Call:
    lines = {"start_line": start, "end_line": end}
    return Call(
        "read_file", {"path": path, **{key: value for key, value in lines.items() if value is not None}}
    )


def edit(what: str, path: str, *pairs: tuple[str, str]) -> Call:
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return Call("edit_file", {"display_description": what, "path": path, "mode": "edit", "edits": edits})


def write(what: str, path: str, content: str) -> Call:
    arguments = {"display_description": what, "path": path, "mode": "write", "content": content}
    return Call("edit_file", arguments)


def terminal(command: str, cd: str = ".", timeout_ms: int | None = None) -> Call:
    limit = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
    return Call("terminal", {"command": command, "cd": cd, **limit})


def grep(regex: str, include: str | None = None, **more: Any) -> Call:
    pattern = {} if include is None else {"include_pattern": include}
    return Call("grep", {"regex": regex, **pattern, **more})


def find(glob: str, **more: Any) -> Call:
    return Call("find_path", {"glob": glob, **more})


def ls(path: str) -> Call:
    return Call("list_directory", {"path": path})


def diagnostics(path: str | None = None) -> Call:
    return Call("diagnostics", {} if path is None else {"path": path})


SYSTEM = """\
You are a coding agent inside the Zed editor. You work in the user's project with the tools below, and you know many \
languages, frameworks and their idioms.

## Communication

- Be brief and plain. Say before a group of calls what you are after; do not retell what the tools printed.
- Write in Markdown. Put file names, commands and identifiers in backticks.
- Never invent a file, a function or a result. If you do not know, look.
- Do not apologise when something unexpected comes up: explain the circumstances and go on.

## Tools

- Follow the schema of a tool exactly and give every required argument. Call only tools that are listed.
- A path begins with the name of a project root. Do not guess paths; list or search when you are not sure.
- Calls that do not depend on each other go into one turn.
- Use `grep` to find symbols, `read_file` with line numbers for a part of a long file.
- A command must end by itself. Never start a server, a watcher or anything that waits for input without a time limit.
- Do not run a tool again with the same arguments unless something has changed since.

## Changing code

- Read a piece of code before you change it. Keep to its style, its names and the libraries that it uses already.
- Make the change that was asked for, whole: callers, tests, documents and migrations included, nothing beside it.
- Solve the cause of a problem, not its symptom. When two attempts did not help, stop and think about what you assume.
- Leave comments only where the code cannot say why.
- Look at the diagnostics and run the tests after a change; do not claim what you have not seen.
- Never write keys or passwords into code.

## Finding a bug

1. Reproduce it, with the smallest command that does.
2. Look at the state instead of guessing it: print it, or ask the code in a shell.
3. Change one thing, and see whether it helped.

## System

Operating system: linux
Shell: /bin/bash
Project roots: {roots}

## Project rules

The user has given rules for this project. They come before everything above.

`````
{rules}
`````
"""


def system_prompt(roots: str, rules: str) -> str:
    return SYSTEM.format(roots=roots, rules=rules.strip())
