"""How fast prefix reuse is analysed: requests of one session that grow to a great length.

    python benchmarks/prefix.py [--requests 200] [--tokens 200000]

Prints seconds and peak memory, first for the promised case (goal: under 2 s and 300 MB), then for twice the
requests over the same text (the new tokens stay the same, requests x length doubles) and for twice the text.
Each case runs in its own process. `command` is `replayer prefix --json` on a JSON-lines file of the same requests,
which must also read, compare and tokenize them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import session_verdict
from replayer.signals.prefix_reuse.tokens import pack
from replayer.traces.schema import Usage

Case = Callable[[int, int], None]


def signal(requests: int, tokens: int) -> None:
    """Token ids by message, as from an engine; earlier messages are the same objects, as a history keeps them."""
    rnd = random.Random(1)
    size = tokens // requests
    reuse = PrefixReuse(block_size=16, capacity_tokens=4 * tokens)
    segments: list[bytes] = []
    messages: list[bytes] = []
    findings = []
    for number in range(requests):
        segments.append(pack(rnd.randrange(100_000) for _ in range(size)))
        messages.append(
            json.dumps(
                {"role": "user" if number % 2 else "assistant", "content": f"{number} " * size}
            ).encode()
        )
        turn = reuse.request(str(number), segments, messages, b"[]")
        reuse.generated(str(number), pack([1, 2, 3]))
        findings.append(reuse.reported(str(number), Usage(cached_tokens=turn.ideal)))
    assert turn.prompt_tokens == size * requests
    assert turn.ideal == size * (requests - 1) // 16 * 16
    assert session_verdict(findings).startswith("healthy")


def command(requests: int, tokens: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requests.jsonl")
        with file.open("w") as out:
            out.writelines(_lines(requests, tokens))
        arguments = [
            sys.executable,
            "-m",
            "replayer",
            "prefix",
            str(file),
            "--json",
            "--tokenizer",
            "characters",
        ]
        report = json.loads(subprocess.run(arguments, capture_output=True, check=True).stdout)
    assert report["requests"] == requests
    assert not report["divergences"]


def _lines(requests: int, tokens: int) -> Iterator[str]:
    rnd = random.Random(2)
    messages = [{"role": "system", "content": "You are a coding agent."}]
    for number in range(requests):
        text = "".join(rnd.choices("abcdefgh \n", k=tokens // requests))
        messages.append({"role": "assistant" if number % 2 else "user", "content": text})
        yield json.dumps({"model": "m", "messages": messages}) + "\n"


def measure(case: Case, requests: int, tokens: int) -> tuple[float, float]:
    """Seconds and peak MB in a fresh process; the time of making the data (for `signal`) is part of it."""
    parent, child = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(case, requests, tokens, child))
    process.start()
    child.close()
    seconds, peak = parent.recv()
    process.join()
    return seconds, peak


def _run(case: Case, requests: int, tokens: int, out: Connection) -> None:
    begun = time.perf_counter()
    case(requests, tokens)
    who = resource.RUSAGE_CHILDREN if case is command else resource.RUSAGE_SELF
    out.send((time.perf_counter() - begun, resource.getrusage(who).ru_maxrss / 1024))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=200_000)
    args = parser.parse_args()
    print(f"{'case':<9}{'requests':>9}{'tokens of the last':>20}{'seconds':>9}{'peak MB':>9}")
    for case in (signal, command):
        for requests, tokens in ((1, 1), (2, 1), (1, 2)):
            n, size = requests * args.requests, tokens * args.tokens
            seconds, peak = measure(case, n, size)
            print(f"{case.__name__:<9}{n:>9}{size:>20,}{seconds:>9.2f}{peak:>9.0f}", flush=True)


if __name__ == "__main__":
    main()
