"""What is concluded from a turn once it is over: its verdict, its executed calls, the signals over the turns so far."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from replayer.journal.events import AnyEvent
from replayer.lazy import dataclass
from replayer.requests.fields import only_lengths
from replayer.run.tool_runs import ToolRun, tool_events
from replayer.run.turn import FinishedTurn, collapse_words, recorded_text, searcher, verdict_event
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import scan_reply
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.differential import token_text_of
from replayer.tools.verdicts.request_facts import request_facts
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import by_mode, judge
from replayer.tools.verdicts.verdict import Verdict, modes_as_dict
from replayer.traces.schema import ToolResultItem

if TYPE_CHECKING:
    from replayer.run.session_signals import SessionSignals


@dataclass(slots=True)
class TurnJudge:
    """Judges the turns of one session in order. Nothing waits for it but the conclusions themselves."""

    validator: Callable[[int], Validator]
    """The validator of a turn's tool set, compiled once per run."""
    results: dict[str, ToolResultItem]
    """The recorded tool results by call id."""
    signals: SessionSignals
    emit: Callable[[AnyEvent], None]
    context_length: int | None
    call_ids: set[str] = dataclasses.field(default_factory=set)
    """Ids that the engine gave to earlier calls of this session."""

    def verdict(self, turn: FinishedTurn) -> Verdict:
        prepared, reply = turn.prepared, turn.reply
        case = Case(
            reply,
            self.validator(prepared.recorded_turn),
            request_facts(
                prepared.fields,
                seen_call_ids=self.call_ids,
                prompt_contains=searcher(prepared.request),
            ),
            usage=turn.usage,
            context_length=self.context_length,
            collapsed=collapse_words(turn.collapse),
            recorded=prepared.recorded,
            pair=turn.pair,
            token_text=token_text_of(reply),
        )
        verdict = judge(case)
        modes = by_mode(case, stream=prepared.request.stream, collapsed=self._other_collapse(turn))
        if prepared.filler:
            verdict = only_lengths(verdict)
        self.call_ids.update(call.id for call in reply.tool_calls if call.id)
        self.emit(verdict_event(turn.key.where(), verdict, None if prepared.filler else modes_as_dict(modes)))
        return verdict

    def _other_collapse(self, turn: FinishedTurn) -> str | None:
        """What the answer in the other mode fell into; no signal watched it."""
        if turn.pair is None:
            return None
        found = scan_reply(
            turn.pair, Expected(searcher(turn.prepared.request), recorded_text(turn.prepared.recorded))
        )
        return next((finding.words for finding in found if finding.level == "collapsed"), None)

    async def after_turn(self, turn: FinishedTurn, runs: Sequence[ToolRun]) -> None:
        """Journal what was executed, and what the signals find over the turns so far."""
        for event in tool_events(turn.key, runs):
            self.emit(event)
        reuse = None
        if turn.reuse is not None:
            reuse = turn.reuse.result() if turn.reuse.done() else await asyncio.wrap_future(turn.reuse)
        for finding in self.signals.after_turn(turn, runs, self.results, reuse):
            self.emit(finding)
