"""Recordings that were changed at random: no traceback, no hang, bounded memory.

`REPLAYER_MUTATIONS` is how many files are made of each sample, `REPLAYER_WORST` a file for the slowest of them.
"""

import os
import random
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from replayer.errors import TraceError
from replayer.traces.convert import convert
from tests.traces import samples as made

COUNT = int(os.environ.get("REPLAYER_MUTATIONS", "60"))
HANGS = 30
"""Seconds after which an import counts as one that never ends, on any machine."""
MOST_GROWTH = 256 << 10
"""KiB of resident memory over all mutations of one sample."""
SAMPLES = made.samples(Path(tempfile.mkdtemp(prefix="replayer-mutations-")))
ODD = [
    b"\0",
    b"\xff\xfe",
    b'"',
    b"{",
    b"]",
    b"\\ud800",
    b"null",
    b"1e999",
    b"-" * 40,
    b"9" * 400,
    b"[" * 3000,
    b"\n",
]
NESTED: object = 0
for _ in range(600):
    NESTED = [NESTED]


def flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def splice(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.choice(ODD) + data[at + rng.randint(0, 40) :]


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def double(data: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:b] + data[a:]


def reshape(data: bytes, rng: random.Random) -> bytes:
    """Another value at a random place of a random record; where the file is not JSON, as `splice`."""
    try:
        records = [orjson.loads(line) for line in data.splitlines() if line.strip()]
    except orjson.JSONDecodeError:
        try:
            records = [orjson.loads(data)]
        except orjson.JSONDecodeError:
            return splice(data, rng)
    place = rng.choice(list(places(records)))
    place[0][place[1]] = rng.choice(
        [None, True, -1, 1.5, 2**63, "", "\u202e", [], {}, [[]], NESTED, records[0]]
    )
    try:
        return b"\n".join(orjson.dumps(record) for record in records)
    except (TypeError, RecursionError):
        return splice(data, rng)  # a record inside itself


def places(value: object) -> Iterator[tuple[dict[str, object] | list[object], object]]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for key, inner in one.items() if isinstance(one, dict) else enumerate(one):  # type: ignore[var-annotated, arg-type]
            yield one, key  # type: ignore[misc]
            if isinstance(inner, dict | list):
                waiting.append(inner)


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [flip, splice, cut, double, reshape, reshape]


@contextmanager
def ends(data: bytes) -> Iterator[None]:
    def hung(number: int, frame: object) -> None:
        raise AssertionError(f"no end after {HANGS} s: {data[:2000]!r}")

    signal.signal(signal.SIGALRM, hung)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_a_changed_file_imports_or_is_refused_in_a_sentence(sample: made.Sample, tmp_path: Path) -> None:
    rng = random.Random(sample.file)
    path, out = tmp_path / sample.file, tmp_path / "out"
    before, worst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, (0.0, b"")
    for number in range(COUNT):
        data = MUTATIONS[number % len(MUTATIONS)](sample.data, rng)
        path.write_bytes(data)
        began = time.process_time()
        with ends(data):
            try:
                for outcome in convert(path, out):
                    assert not isinstance(outcome, TraceError) or "\n" not in str(outcome)
            except TraceError as error:
                assert "\n" not in str(error) and str(path) in str(error)
        worst = max(worst, (time.process_time() - began, data))
        shutil.rmtree(out, ignore_errors=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if "REPLAYER_WORST" in os.environ:
        with open(os.environ["REPLAYER_WORST"], "a") as file:
            file.write(f"{sample.file}\t{COUNT}\t{worst[0]:.3f} s CPU\t{grown} KiB\n")
    assert grown < MOST_GROWTH
