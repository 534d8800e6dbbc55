"""What to run, and where."""

from __future__ import annotations

import json
from dataclasses import field
from pathlib import Path

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
        return json.dumps(
            {
                "plan": self.plan.model_dump(mode="json", context={"reveal": True}),
                "folder": str(self.folder),
                "traces": {name: str(path) for name, path in self.traces.items()},
                "action": self.action,
                "metrics_port": self.metrics_port,
            }
        )

    @classmethod
    def parse(cls, text: str) -> Job:
        values = json.loads(text)
        return cls(
            plan=Plan.model_validate(values["plan"]),
            folder=Path(values["folder"]),
            traces={name: Path(path) for name, path in values["traces"].items()},
            action=values["action"],
            metrics_port=values["metrics_port"],
        )
