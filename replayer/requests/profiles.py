"""Named profiles: what stands in for a system prompt and tools that a recording lacks. Never used unless asked for."""

from __future__ import annotations

from collections.abc import Collection

from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.text import nearest
from replayer.tools.toolsets import KITS, load
from replayer.traces.filler import filler
from replayer.traces.schema import ToolSet

PROFILES = ("zed", "claude-code", "codex", "filler:N")

_ZED = """You are a highly skilled software engineer at work in the Zed editor.

Be conversational but professional. Refer to the user in the second person and to yourself in the first person. Format \
answers in Markdown; put names of files, directories, functions and classes in backticks. Never make things up.

Use the tools that are offered, and only with parameters that they have. Give every required parameter; never guess a \
path: find it first with `grep`, `find_path` or `list_directory`. Every path starts with the name of a project root. \
When calls do not depend on each other, make them in one turn. Read what you are about to change. After a change, run \
`diagnostics` or the tests. Fix causes, not symptoms, and leave alone what was not asked for.

Operating system: linux. Default shell: bash."""

_CLAUDE_CODE = """You are an interactive command-line agent that helps users with software engineering tasks.

Be concise: answer in a few lines unless asked for detail, without preamble or summary. Do what was asked, nothing more. \
Follow the conventions of the code that is there; never assume that a library is available. Never commit unless asked.

Plan larger tasks with the task list and keep it current. Search before you change anything, read a file before you \
edit it, and verify the result with the project's own tests and linters. Prefer the special tools for reading, \
searching and editing over shell commands. Make independent calls in one reply."""

_CODEX = """You are a coding agent that runs in a terminal. You and the user share one workspace; work until the task is \
really done before you hand back.

Before a group of commands, say in one sentence what you are about to do. Keep a plan for tasks of several turns. \
Prefer `rg` for searching. Change files with `apply_patch`. Fix problems at the root, keep changes small and in the \
style of the code around them, and never revert changes that are not yours. Run the tests that cover your change. \
Close with a short account of what changed and what was checked."""

_PROMPTS = {"zed": _ZED, "claude-code": _CLAUDE_CODE, "codex": _CODEX}


@dataclass(frozen=True, slots=True)
class Profile:
    """`system` and `tools` are used only where the recording has none."""

    name: str
    system: str
    tools: ToolSet | None


def profile(name: str, called: Collection[str] = ()) -> Profile:
    """The profile of a name; of several generations of an agent's tools, the one that knows most of `called`.

    Raises PlanError that names the nearest profile.
    """
    if name.startswith("filler:"):
        length = name.removeprefix("filler:")
        if not length.isdecimal() or not 0 < int(length) <= 10_000_000:
            raise PlanError(f"profile {name!r}: N is the number of tokens, as in filler:12000")
        return Profile(name, filler("system", int(length)).strip(), None)
    if name not in _PROMPTS:
        raise PlanError(f"unknown profile {name!r}{nearest(name, PROFILES)}")
    kits = [load(kit) for kit in KITS if kit == name or kit.startswith(f"{name}-")]
    best = max(kits, key=lambda kit: len(kit.names & set(called)))
    return Profile(name, _PROMPTS[name], ToolSet(id=f"profile-{name}", tools=best.tools))
