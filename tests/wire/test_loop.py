"""The loop that receives heeds an interrupt whenever it comes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from replayer.wire.loop import run_receiving


def test_an_interrupt_is_not_lost_with_a_task_that_was_being_ended() -> None:
    async def ending() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(5)
        return "went on"

    with pytest.raises(KeyboardInterrupt):
        run_receiving(ending())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_nobody_interrupted_returns_although_a_group_of_tasks_failed_in_it() -> None:
    async def fails() -> None:
        raise ValueError

    async def grouped() -> str:
        with contextlib.suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())
                await asyncio.sleep(1)
        return "done"

    assert run_receiving(grouped()) == "done"
