"""What to run, and where."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from pydantic import TypeAdapter

from replayer.lazy import dataclass
from replayer.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: a new folder with these traces, or an old one (`resume`, `widen`)."""

    plan: Plan
    folder: Path
    traces: dict[str, Path] = field(default_factory=dict)
    action: str = "start"
    metrics_port: int | None = None
    """Where Prometheus may read the run on 127.0.0.1 while it goes on."""

    def dump(self) -> str:
        """For the pipe to the runner alone: it holds the credentials."""
        return TypeAdapter(Job).dump_json(self, context={"reveal": True}).decode()

    @classmethod
    def parse(cls, text: str) -> Job:
        return TypeAdapter(cls).validate_json(text)
