"""Rebuilds shipped sessions by really running every call of their scripts in their workspaces.

    python -m sessions.build NAME... [-o FOLDER]
    python -m sessions.build --check [NAME...]

Writes FOLDER/NAME/trace.jsonl and FOLDER/NAME/workspace.tar; FOLDER is `traces/recorded` where none is given. `--check` builds
into a temporary folder and compares with what is shipped: exit code 1 where less than 95 % of the tool results come
out the same or equivalent, or anything else differs.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from replayer.errors import ReplayerError, TraceError
from replayer.tools import toolsets
from replayer.tools.environment import Wanted, prepare
from replayer.tools.execution import Executor
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import Limits
from replayer.tools.sandbox.workspace import Workspace
from replayer.traces.schema import Fidelity, Header, Source, ToolCallItem
from replayer.traces.writer import TraceWriter
from sessions import counting, workspace
from sessions.likeness import likeness
from sessions.recorder import Recorder
from sessions.script import Answer, Call, Session

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "traces/recorded"


def names() -> list[str]:
    return sorted(found.parent.name for found in HERE.glob("*/session.py"))


def load(name: str) -> Session:
    """The session of a script. Raises TraceError when there is no such script."""
    path = HERE / name / "session.py"
    if not path.is_file():
        raise TraceError(f"{name}: no session of that name; there are {', '.join(names())}")
    session = runpy.run_path(str(path))["SESSION"]
    assert isinstance(session, Session)
    return session


def header(session: Session) -> Header:
    script = (HERE / session.name / "session.py").read_bytes()
    return Header(
        trace_id=session.name,
        title=session.title,
        agent=session.agent,
        source=Source(
            format="session-script", sha256=hashlib.sha256(script).hexdigest(), importer="build.py"
        ),
        fidelity=Fidelity(
            system="authored",
            tools="authored",
            text="authored",
            arguments="authored",
            timing="authored",
            usage="derived",
            boundaries="authored",
        ),
        workspace=facts(session),
        meta={"purpose": session.purpose, "results": "recorded"},
    )


def facts(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = {"tar": "workspace.tar", "check": list(session.check)}
    if session.environment:
        found["environment"] = {"name": session.name, "packages": list(session.environment)}
    return found


class SandboxTools:
    """The tools of a session's kit in a sandbox of its own."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    async def run(self, call: Call) -> Answer:
        item = ToolCallItem(id=0, call_id="", name=call.tool, arguments=call.text)
        done = await self.executor.execute(item)
        return Answer(done.output, done.is_error, done.exit_code)


async def build(name: str, out: Path, tokens: counting.TokenCounter) -> Path:
    session = load(name)
    target = out / name
    target.mkdir(parents=True, exist_ok=True)
    tar = target / "workspace.tar"
    with tempfile.TemporaryDirectory() as scratch:
        tar.write_bytes(workspace.pack(workspace_of(name, Path(scratch))))
        raw = Path(scratch, "trace.jsonl")
        await record(session, raw, tar)
        counting.with_usage(raw, target / "trace.jsonl", await counting.count_turns(raw, tokens))
    return target / "trace.jsonl"


def workspace_of(name: str, scratch: Path) -> Path:
    """The files of a session: a folder beside its script, or made by its `workspace.py`."""
    maker = HERE / name / "workspace.py"
    if not maker.exists():
        return HERE / name / "workspace"
    made = scratch / "workspace"
    made.mkdir()
    runpy.run_path(str(maker))["make"](made)
    return made


async def record(session: Session, raw: Path, tar: Path) -> None:
    head = header(session)
    wanted = Wanted.from_trace(facts(session).get("environment"), raw)
    environment = prepare(wanted) if wanted else None
    base = Workspace.from_tar(tar)
    async with await Sandbox.start(base, environment=environment, limits=Limits(timeout=600)) as sandbox:
        tools = SandboxTools(Executor(sandbox, toolsets.load(session.kit)))
        with TraceWriter(raw, head) as writer:
            await Recorder(session, tools, writer).play()
        done = await sandbox.run(session.check)
    if done.exit_code != 0:
        raise TraceError(f"{session.name}: the check fails after the last turn: {done.output.strip()[-300:]}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=names(), help="all where none is given")
    parser.add_argument("-o", "--out", type=Path, default=SHIPPED, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="compare a rebuild with what is shipped")
    return parser.parse_args()


async def main() -> int:
    args = arguments()
    async with counting.counter() as tokens:
        if args.check:
            held = [await check(name, tokens) for name in args.names]
            return 0 if all(held) else 1
        for name in args.names:
            print(await build(name, args.out, tokens))
    return 0


async def check(name: str, tokens: counting.TokenCounter) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        found = likeness(SHIPPED / name / "trace.jsonl", await build(name, Path(folder), tokens))
        same_tar = (SHIPPED / name / "workspace.tar").read_bytes() == Path(
            folder, name, "workspace.tar"
        ).read_bytes()
    print(f"{name}: {found}" + ("" if same_tar else "; the workspace differs"), flush=True)
    return found.holds and same_tar


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except ReplayerError as error:
        sys.exit(f"build.py: {error}")
