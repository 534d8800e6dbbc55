"""Rebuilds a shipped session by really running every call of its script in its workspace.

    python traces/recorded/build.py NAME [-o FOLDER]

Writes FOLDER/NAME/trace.jsonl and FOLDER/NAME/workspace.tar; FOLDER is this one where none is given.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import runpy
import sys
import tempfile
from pathlib import Path

from replayer.errors import ReplayerError, TraceError
from replayer.traces.recorded import counting, workspace
from replayer.traces.recorded.plain import PlainTools
from replayer.traces.recorded.recorder import Recorder
from replayer.traces.recorded.script import Session
from replayer.traces.schema import Fidelity, Header, Source
from replayer.traces.writer import TraceWriter

HERE = Path(__file__).resolve().parent


def load(name: str) -> Session:
    """The session of a script. Raises TraceError when there is no such script."""
    path = HERE / name / "session.py"
    if not path.is_file():
        known = ", ".join(sorted(found.parent.name for found in HERE.glob("*/session.py")))
        raise TraceError(f"{name}: no session of that name; there are {known}")
    session = runpy.run_path(str(path))["SESSION"]
    assert isinstance(session, Session)
    return session


def header(session: Session) -> Header:
    script = (HERE / session.name / "session.py").read_bytes()
    return Header(
        trace_id=session.name,
        title=session.title,
        agent="zed",
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
        workspace={
            "tar": "workspace.tar",
            "environment": session.environment,
            "check": list(session.check),
        },
        meta={"purpose": session.purpose, "results": "recorded"},
    )


async def build(name: str, out: Path, tokens: counting.TokenCounter) -> Path:
    session = load(name)
    target = out / name
    target.mkdir(parents=True, exist_ok=True)
    tar = workspace.pack(HERE / name / "workspace")
    with tempfile.TemporaryDirectory() as scratch:
        place, raw = Path(scratch, "workspace"), Path(scratch, "trace.jsonl")
        workspace.unpack(tar, place)
        with TraceWriter(raw, header(session)) as writer:
            await Recorder(session, PlainTools(place), writer).play()
        counting.with_usage(raw, target / "trace.jsonl", await counting.count_turns(raw, tokens))
    (target / "workspace.tar").write_bytes(tar)
    return target / "trace.jsonl"


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("-o", "--out", type=Path, default=HERE, metavar="FOLDER")
    args = parser.parse_args()
    async with counting.counter() as tokens:
        for name in args.names:
            print(await build(name, args.out, tokens))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except ReplayerError as error:
        sys.exit(f"build.py: {error}")
