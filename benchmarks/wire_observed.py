"""The client as a run uses it (`replayer.run.session.exchange`): live feed, every signal, verdict and journal on.

What a run has per delta is the live feed and the repetition watch over text, reasoning and tool arguments; speed and
acceptance are read off the turn as it is journalled, loops and repeated texts once it is done. The prefix watch is
not here: it is off at this many streams (`replayer.run.prefix_watch.MAX_CONCURRENCY`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import httpx

from benchmarks.wire_readers import Read, Reading


@asynccontextmanager
async def observed(url: str, streams: int, texts: bool) -> AsyncIterator[Read]:
    from replayer.engines.openai.adapter import OpenAIEngine
    from replayer.journal.events import VerdictGiven
    from replayer.journal.log import JournalWriter
    from replayer.run.live_feed import LiveFeed
    from replayer.run.session_signals import SessionSignals
    from replayer.run.turn import TurnKey, Watch, finished
    from replayer.signals.base import Expected
    from replayer.tools.verdicts.schema_check import Validator
    from replayer.tools.verdicts.validation import Case, judge
    from replayer.wire.client import WireClient
    from replayer.wire.types import Delta, Request

    client, engine, numbers = WireClient(url), OpenAIEngine(url, httpx.AsyncClient()), count()
    validator = Validator(())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "live").mkdir()
        journal, feed = JournalWriter(Path(folder)), LiveFeed(Path(folder) / "live")
        flushing = asyncio.create_task(feed.run())

        async def read(body: bytes) -> Reading:
            key = TurnKey("lane", f"lane/trace/{next(numbers)}", 1, 0)
            signals = SessionSignals(None, recorded_mode=True)
            watching = signals.begin(Expected(lambda text: False, "the recorded reply"))
            watch = Watch(key, watching, feed, journal.append, observe=True)
            seen: list[str] = []

            def on_delta(delta: Delta) -> bool:
                seen.append(delta.text)
                return watch.on_delta(delta)

            reply = await client.chat(Request([body]), on_delta if texts else watch.on_delta)
            assert reply.fault is None and reply.done and not reply.notes, reply
            watch.finish(reply)
            journal.append(finished(key, reply, engine, watch, lag_ns=0))
            verdict = judge(Case(reply, validator))
            faults = [dataclasses.asdict(fault) for fault in verdict.faults]
            journal.append(VerdictGiven(**key.where(), usable=verdict.usable, faults=faults))
            sent = reply.timing.sent
            for finding in signals.after_turn(key, reply, (), (), {}):
                journal.append(finding)
            at = [sent + offset for offset in reply.timing.arrivals]
            return Reading(sent, at, seen, reply.timing.stamped_by)

        yield read
        flushing.cancel()
        journal.close()
        await client.aclose()
        await engine.aclose()
