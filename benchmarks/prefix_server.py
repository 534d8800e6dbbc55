"""What the watch of one server costs: many sessions whose prompts grow, interleaved, each with text of its own.

    python benchmarks/prefix_server.py [--sessions 256] [--turns 30] [--tokens 8000]

Prints milliseconds of CPU a turn (the request's JSON is parsed, rendered, compared and judged) and the memory taken.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

import orjson

from replayer.engines.base import EngineFacts
from replayer.prefix.server_watch import Answer, ServerWatch
from replayer.traces.schema import Usage

WORDS = [f"word{n}" for n in range(5000)]


def text(rnd: random.Random, tokens: int) -> str:
    return " ".join(rnd.choices(WORDS, k=tokens // 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=256)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=8000)
    args = parser.parse_args()
    facts = EngineFacts(
        kind="vllm", base_url="http://127.0.0.1:1/v1", block_size=16, kv_pool_tokens=1_000_000
    )
    watch, rnd = ServerWatch(facts, facts.base_url), random.Random(1)
    histories = [
        [
            {"role": "system", "content": text(rnd, args.tokens // 2)},
            {"role": "user", "content": text(rnd, args.tokens // 2)},
        ]
        for _ in range(args.sessions)
    ]
    before, spent, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0.0, 0
    for turn in range(args.turns):
        for session, messages in enumerate(histories):
            if turn:
                messages += [{"role": role, "content": text(rnd, 40)} for role in ("assistant", "user")]
            body = orjson.dumps({"model": "m", "messages": messages, "cache_salt": str(session)})
            clock += 3
            began, key = time.process_time(), f"{session}/{turn}"
            watch.asked(key, str(session), body, clock - 2)
            usage = Usage(prompt_tokens=len(body) // 4, cached_tokens=0, completion_tokens=20)
            reply = {"role": "assistant", "content": "done"}
            watch.answered(
                key,
                Answer(
                    message=reply, usage=usage, sent=clock - 2, first=clock - 1, ended=clock, complete=True
                ),
            )
            spent += time.process_time() - began
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    turns = args.sessions * args.turns
    print(
        f"{turns} turns, {len(body):,} bytes in the last: {1000 * spent / turns:.2f} ms CPU a turn, {taken:.0f} MB"
    )


if __name__ == "__main__":
    main()
