"""The plans that ship with replayer, found by name."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from replayer.errors import PlanError


def shipped() -> dict[str, Path]:
    """Name -> plan file."""
    root = Path(str(files("replayer"))) / "plans"
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def find_plan(wanted: Path) -> Path:
    """A file, or a plan that ships: `plans/throughput-ramp.toml`, `throughput-ramp`. Raises PlanError naming those."""
    if wanted.is_file():
        return wanted
    known = shipped()
    of_ours = wanted.parent.name in ("", "plans") and wanted.suffix in ("", ".toml")
    if of_ours and wanted.stem in known:
        return known[wanted.stem]
    raise PlanError(f"plan file {wanted} does not exist; plans that ship: {', '.join(known)}")


def purpose(path: Path) -> str:
    """The first line of a plan file, which says what it is for."""
    with path.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("#").strip()
