"""One case for the judge: a reply, the request that it answers, and what else bears on the judgement."""

from __future__ import annotations

from dataclasses import field

from replayer.lazy import dataclass
from replayer.tools.verdicts.request_facts import RequestFacts
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.schema import AnyItem, Usage
from replayer.wire.types import Reply

_NOTHING_ASKED = RequestFacts()


@dataclass(slots=True, eq=False)
class Case:
    """All that `judge` looks at."""

    reply: Reply
    validator: Validator
    request: RequestFacts = field(default=_NOTHING_ASKED)
    usage: Usage | None = None
    """Counts as the engine's adapter reads them; else the reply's own usage object is read."""
    context_length: int | None = None
    collapsed: str | None = None
    """What the repetition signal found, in words."""
    recorded: tuple[AnyItem, ...] | None = None
    """The items that the recorded turn produced."""
    pair: Reply | None = None
    """The other mode's reply (streamed or not) to the same request."""
    token_text: str | None = None
    """The raw text of the generated tokens."""
