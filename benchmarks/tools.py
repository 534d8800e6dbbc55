"""Speed of the tool rooms: verdicts on calls and replies.

    PYTHONPATH=. python benchmarks/tools.py

Goal: 100,000 typical calls validated per second on one core. Medians of several rounds.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from replayer.tools.markup import find_leaks
from replayer.tools.toolsets import load
from replayer.tools.validation import Validator, judge
from replayer.wire.types import Reply, Timing, ToolCall


def per_second(act: Callable[[], object], rounds: int = 9, seconds: float = 0.2) -> float:
    """Median over rounds of how often `act` runs in a second."""
    rates = []
    for _ in range(rounds):
        count, begin = 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds:
            for _ in range(20):
                act()
            count += 20
        rates.append(count / taken)
    return statistics.median(rates)


def validation() -> None:
    """Calls against compiled schemas, whole verdicts, and the search for leaked markup."""
    validator = Validator(load("zed").tools)
    typical = json.dumps({"path": "shipline/shipper.py", "start_line": 10, "end_line": 60})
    edit = {"old_text": "    return self.batch_size\n", "new_text": "    return max(1, self.batch_size)\n"}
    large = json.dumps({"path": "shipline/shipper.py", "content": "        self.batch_size = 1\n" * 760})
    invalid = json.dumps({"path": "a", "edits": [edit, {"old_text": 1}], "mode": "x"})
    rows = (
        ("read_file", typical),
        ("edit_file", json.dumps({"path": "shipline/shipper.py", "edits": [edit]})),
        ("write_file", large),
        ("edit_file", invalid),
    )
    for name, arguments in rows:
        rate = per_second(lambda name=name, arguments=arguments: validator.check(name, arguments, 0))
        worth = "valid" if validator.check(name, arguments).valid else "invalid"
        print(f"{rate:12,.0f} /s  check of one {worth} call, {name}, {len(arguments):,} bytes")
    reply = Reply(
        Timing(0, 0, 0, 0),
        content="I will read the file first.",
        tool_calls=(ToolCall(0, "call_1", "read_file", typical),),
        finish_reason="tool_calls",
        usage={"prompt_tokens": 900, "completion_tokens": 40},
        done=True,
    )
    print(
        f"{per_second(lambda: judge(reply, validator, max_tokens=400)):12,.0f} /s  whole verdict of a reply with one call"
    )
    prose = "The `push()` method returns early when the queue is full, so [the test](x) fails.\n" * 50
    print(
        f"{per_second(lambda: find_leaks(prose, validator.names)):12,.0f} /s  search of {len(prose):,} characters of prose for markup"
    )


def main() -> None:
    validation()


if __name__ == "__main__":
    main()
