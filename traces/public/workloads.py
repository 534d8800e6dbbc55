"""Public workloads by name: where each lies, which bytes it has, under which licence, and whom a report must name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import orjson

from replayer.errors import TraceError
from replayer.lazy import dataclass
from replayer.text import nearest
from replayer.traces.schema import Header
from replayer.wire.types import JsonObject

_RECORD = "workload.json"
_FOLDERS_UP = 6
"""How far above a file of a workload its record can lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`sha256` and `bytes` are those of the one file; None where the hub states those of each."""

    name: str
    source: str
    revision: str
    description: str = ""
    format: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    licence: str = "see the card"
    attribution: str = ""


def workloads() -> dict[str, Workload]:
    """The manifest of this package."""
    text = files("replayer.traces.public").joinpath("workloads.toml").read_text("utf-8")
    return {name: Workload(name=name, **facts) for name, facts in tomllib.loads(text).items()}


def workload(name: str) -> Workload:
    """By name, or one of its own for `hf://ID@REV/PATH`. Raises TraceError."""
    if name.startswith("hf://"):
        place, _, path = name.removeprefix("hf://").partition("@")
        revision = path.partition("/")[0]
        if place.count("/") != 1 or not revision:
            raise TraceError(f"{name}: expected hf://OWNER/NAME@REVISION/PATH")
        return Workload(name=place.replace("/", "--"), source=name, revision=revision, attribution=place)
    known = workloads()
    if name not in known:
        raise TraceError(f"unknown workload {name!r}{nearest(name, known)}; `replayer get` lists them")
    return known[name]


def cache_folder(workload: Workload) -> Path:
    """Where its files lie on this machine, one folder a revision."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "replayer" / "workloads" / workload.name / workload.revision.replace("/", "-")


def write_record(folder: Path, workload: Workload, hashes: dict[str, str]) -> None:
    """Beside the files: what they are, so that imports of them carry licence and attribution."""
    record = {**asdict(workload), "files": hashes}
    (folder / _RECORD).write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")


def provenance(path: Path) -> JsonObject | None:
    """What an import remembers of a file that `get` fetched; None for any other."""
    for folder in list(path.absolute().parents)[:_FOLDERS_UP]:
        try:
            record = orjson.loads((folder / _RECORD).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            continue
        name = path.absolute().relative_to(folder).as_posix()
        if isinstance(record, dict) and name in record.get("files", {}):
            kept = {key: record.get(key) for key in ("name", "source", "revision", "licence", "attribution")}
            return {**kept, "sha256": record["files"][name]}
    return None


def credits_of(headers: Iterable[Header]) -> list[str]:
    """Whom a report on these traces must name: one line a workload."""
    found: dict[str, None] = {}
    for header in headers:
        known = header.meta.get("workload")
        if isinstance(known, dict):
            who = known.get("attribution") or known.get("source")
            found[f"workload {known.get('name')}: {who}; licence {known.get('licence')}"] = None
    return list(found)
