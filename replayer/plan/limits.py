"""What a run and a request must keep (the `[limits]` and `[slo]` tables)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from replayer.plan.load_shape import Flag, Strict


class Limits(Strict):
    """When a finished run counts as broken (exit code 1)."""

    errors: float = Field(default=0.5, ge=0, le=1)
    """Largest share of a lane's turns that may end in an engine error."""
    clock_ms: Annotated[
        float,
        Field(gt=0),
        Flag(
            "largest uncertainty of another process's clock before the run is refused (default: 50)",
            "MS",
            "--max-clock",
        ),
    ] = 50.0
    lag_ms: Annotated[
        float,
        Field(gt=0),
        Flag(
            "largest p99 lag of the receiving loop before the run counts as broken (default: 100)",
            "MS",
            "--max-lag",
        ),
    ] = 100.0


class Slo(Strict):
    """What a request must keep to count towards goodput; a limit that is omitted always holds."""

    ttft_ms: float | None = Field(default=None, gt=0)
    """Most milliseconds to the first token."""
    tpot_ms: float | None = Field(default=None, gt=0)
    """Most milliseconds for each output token after the first."""
    e2e_ms: float | None = Field(default=None, gt=0)
    """Most milliseconds for the whole answer."""
