"""What a run and a request must keep, and how long is waited (`[limits]`, `[slo]` and `[timeouts]`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from replayer.plan.load_shape import Above0, Above0OrNone, Flag, From0, Strict
from replayer.wire.limits import Timeouts


class Limits(Strict):
    """When a finished run counts as broken (exit code 1)."""

    errors: float = Field(default=0.5, ge=0, le=1)
    """Largest share of a lane's turns that may end in an engine error."""
    clock_ms: Annotated[
        Above0,
        Flag(
            "largest uncertainty of another process's clock before the run is refused (default: 50)",
            "MS",
            "--max-clock",
        ),
    ] = 50.0
    lag_ms: Annotated[
        Above0,
        Flag(
            "largest p99 lag of the receiving loop before the run counts as broken (default: 100)",
            "MS",
            "--max-lag",
        ),
    ] = 100.0


class Slo(Strict):
    """What a request must keep to count towards goodput; a limit that is omitted always holds."""

    ttft_ms: Above0OrNone = None
    """Most milliseconds to the first token."""
    tpot_ms: Above0OrNone = None
    """Most milliseconds for each output token after the first."""
    e2e_ms: Above0OrNone = None
    """Most milliseconds for the whole answer."""


class Patience(Strict):
    """Seconds. What carries no text and no call, such as comments, ends no wait."""

    connect: Annotated[Above0, Flag("to connect (default: 10)", "S", "--connect-timeout")] = 10
    first_byte: Annotated[
        Above0, Flag("to the end of a reply's headers (default: 600)", "S", "--first-byte-timeout")
    ] = 600
    first_token: Annotated[
        Above0, Flag("to a reply's first token (default: 600)", "S", "--first-token-timeout")
    ] = 600
    idle: Annotated[
        Above0, Flag("between two tokens, and from the last to the end (default: 300)", "S", "--idle-timeout")
    ] = 300
    total: Annotated[Above0, Flag("a whole reply (default: 3600)", "S", "--reply-timeout")] = 3600
    server: Annotated[
        From0, Flag("for a server that went away to come back (default: 120)", "S", "--server-timeout")
    ] = 120
    process: Annotated[
        Above0, Flag("for another process of the run to say anything (default: 60)", "S", "--process-timeout")
    ] = 60
    """Five times as long while it starts."""

    @property
    def of_replies(self) -> Timeouts:
        return Timeouts(self.connect, self.first_byte, self.first_token, self.idle, self.total)


class Waiting(Strict):
    """How long a server may take, or another process of the run, in seconds."""

    timeouts: Patience = Patience()
    """How long each part of a reply may take."""
