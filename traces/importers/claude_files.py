"""Which files of Claude Code belong to one session."""

from __future__ import annotations

from pathlib import Path


def subagent_files(path: Path, session: str | None) -> list[Path]:
    """Transcripts of subagents that lie beside a session (newer: a folder of the session's name)."""
    if session is None or path.name.startswith("agent-"):
        return []
    newer = sorted((path.parent / session / "subagents").glob("agent-*.jsonl"))
    return newer or [p for p in sorted(path.parent.glob("agent-*.jsonl")) if _belongs(p, session)]


def comes_with_session(path: Path) -> bool:
    """Whether a file is a subagent's transcript whose session lies beside it, or above its folder."""
    if not (path.name.startswith("agent-") and path.suffix == ".jsonl"):
        return False
    if path.parent.name == "subagents":
        return path.parent.parent.with_suffix(".jsonl").exists()
    return any(_belongs(path, other.stem) for other in path.parent.glob("*.jsonl") if len(other.stem) == 36)


def _belongs(path: Path, session: str) -> bool:
    with path.open("rb") as file:
        return session.encode() in file.readline(1 << 16)
