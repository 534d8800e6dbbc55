"""What keeps a cell's prompts out of what earlier cells left in an engine's prefix cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from replayer.engines.base import Engine


@dataclass(frozen=True, slots=True)
class Isolation:
    """`fields` go into every request of the cell, `marker` behind its system prompt. At most one of them is there."""

    kind: Literal["salt", "marker"] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    marker: str | None = None


def isolate(engine: Engine, session: str) -> Isolation:
    """The engine's own salt, else a marker; that is the same on every lane, so that lanes still see the same prompts."""
    salt = engine.isolation(session)
    return Isolation("salt", fields=salt) if salt else Isolation("marker", marker=f"\n\n[session {session}]")
