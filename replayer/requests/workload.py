"""Sessions that are generated instead of recorded: prompts and answers of set lengths, for load figures."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from replayer.wire.types import JsonObject

BLOCK = 16
"""Tokens per block of filler: prefixes are shared in whole blocks of it."""


class Workload(BaseModel):
    """`sessions` sessions of `requests` independent requests each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[\w.-]+$")
    """Its sessions are called NAME-000, NAME-001 and so on."""
    sessions: int = Field(default=1, ge=1, le=10_000)
    """How many there are; they share nothing with each other."""
    requests: int = Field(default=1, ge=1)
    """Requests of one session, sent one after another."""
    input_tokens: int = Field(ge=BLOCK)
    """Length of each prompt."""
    output_tokens: int = Field(ge=1)
    """Asked for with each request, and generated in full where the engine can ignore its end token."""
    shared_prefix: float = Field(default=0.0, ge=0, lt=1)
    """Share of each prompt that all requests of a session begin with, in whole blocks."""
    instruction: str = "Answer with a JSON object that sums these notes up."
    """Stands before the filler of a request with a response schema."""
    response_schema: JsonObject | None = None
    """JSON Schema that the answer must hold to, sent as `response_format`."""

    @property
    def traces(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number:03}" for number in range(self.sessions))
