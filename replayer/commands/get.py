"""List or fetch public workloads. Each is pinned to a revision; bytes that differ are refused.

Files go to the cache (XDG_CACHE_HOME); a fetch that broke off goes on where it ended. `-o` also imports them as
native traces, which carry licence and attribution into every report. HF_ENDPOINT and HF_TOKEN are honoured.

Examples:
  replayer get
  replayer get mooncake-conversation -o sessions
  replayer get hf://trace-commons/agent-traces@112ebd4d03ce852b00e935d523107c3d0c9a65bf/sessions/codex
  replayer get tracelab --from /media/stick
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from replayer.commands.flags import flag
from replayer.commands.import_ import reported
from replayer.errors import TraceError
from replayer.text import print_json, show_progress
from replayer.traces.convert import convert
from replayer.traces.public.download import fetch, remotes, remotes_in, take
from replayer.traces.public.workloads import (
    Workload,
    cache_folder,
    provenance,
    workload,
    workloads,
    write_record,
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a workload, or hf://OWNER/NAME@REVISION/PATH"
    )
    flag(parser, "--from DIR", "take the files from a folder, not the network", dest="source")
    flag(parser, "-o, --out DIR", "also import what was fetched into this folder")
    flag(parser, "--json", "JSON lines")


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        for known in workloads().values():
            _list(known, args.json)
        return 0
    chosen = workload(args.name)
    paths = _fetched(chosen, Path(args.source) if args.source else None)
    for path in paths:
        _tell(chosen, path, args.json)
    out = Path(args.out) if args.out else None
    errors = [error for path in paths if out for error in reported(path, convert(path, out), args.json)]
    for error in errors:
        print(f"replayer: {error}", file=sys.stderr)
    return TraceError.exit_code if errors else 0


def _list(known: Workload, as_line: bool) -> None:
    if as_line:
        print_json({**asdict(known), "cached": (cache_folder(known) / "workload.json").is_file()})
        return
    size = f"{known.bytes / 1e6:,.0f} MB" if known.bytes else "size on the hub"
    print(f"{known.name:<22} {known.licence:<11} {size:>15}  {known.description}")


def _fetched(chosen: Workload, source: Path | None) -> list[Path]:
    """Every file, checked. Raises TraceError, Unreachable."""
    folder = cache_folder(chosen)
    hashes: dict[str, str] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for remote in remotes_in(chosen, source) if source else remotes(chosen):
            hashes[remote.path] = (
                take(remote, source, folder) if source else fetch(remote, folder, show_progress)
            )
        write_record(folder, chosen, hashes)
    except OSError as error:
        raise TraceError(f"{folder}: cannot be written ({error.strerror or error})") from None
    return [folder / path for path in hashes]


def _tell(chosen: Workload, path: Path, as_line: bool) -> None:
    if as_line:
        facts = {key: value for key, value in asdict(chosen).items() if key not in ("sha256", "bytes")}
        known = provenance(path) or {}
        print_json({**facts, "file": str(path), "sha256": known.get("sha256"), "bytes": path.stat().st_size})
        return
    print(
        f"{path}: {path.stat().st_size:,} bytes; licence {chosen.licence}; {chosen.attribution or chosen.source}"
    )
