"""Damaged and odd sources never crash an importer: every sample, with its bytes and its values changed."""

from __future__ import annotations

import json
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.errors import TraceError
from replayer.traces.convert import convert
from replayer.traces.summary import check
from tests.traces import samples as made
from tests.traces.imported import SAMPLES


def _survives(path: Path) -> None:
    """The file imports, wholly or in part, or is refused in one sentence; nothing half-written is left."""
    out = path.parent / "out"
    try:
        for outcome in convert(path, out):
            if isinstance(outcome, TraceError):
                assert "\n" not in str(outcome)
            else:
                check(Path(outcome.trace))
    except TraceError as error:
        assert "\n" not in str(error) and str(path) in str(error)
    assert not out.exists() or all(p.name.endswith(".trace.jsonl") for p in out.iterdir())


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_damaged_bytes_never_crash_an_importer(sample: made.Sample, data: st.DataObject) -> None:
    whole = sample.data
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    damaged = (
        whole[:at] if cut else whole[:at] + data.draw(st.binary(min_size=1, max_size=4)) + whole[at + 1 :]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sample.file
        path.write_bytes(damaged)
        _survives(path)


_JSON = [s for s in SAMPLES if s.data[:1] in b"{["]
_odd_values = st.sampled_from(
    [None, True, -1, 1.5, 10**18, "", "x", "\ud800", [], {}, [None], {"a": None}, [[]], [{}]]
)


_mutations = st.sampled_from(["delete", "replace", "double", "wrap", "as text", "rename"])


def _mutate(container: Any, key: Any, mutation: str, odd: Any) -> None:
    """Changes one field or element of a recording the way a neighbouring version or a bug would."""
    if mutation == "delete" and isinstance(container, dict):
        del container[key]
    elif mutation == "double" and isinstance(container, list):
        container.insert(key, deepcopy(container[key]))
    elif mutation == "rename" and isinstance(container, dict):
        container[f"{key}_2"] = container.pop(key)
    elif mutation == "wrap":
        container[key] = [container[key]]
    elif mutation == "as text":
        container[key] = json.dumps(container[key])
    else:
        container[key] = odd


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a value."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, part in entries:
        found.append((value, key))
        _places(part, found)
    return found


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(_JSON), st.data())
def test_odd_values_never_crash_an_importer(sample: made.Sample, data: st.DataObject) -> None:
    try:
        records, joined = [orjson.loads(sample.data)], False
    except orjson.JSONDecodeError:
        records, joined = [orjson.loads(line) for line in sample.data.splitlines()], True
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(records, [])
        container, key = data.draw(st.sampled_from(places))
        _mutate(container, key, data.draw(_mutations), deepcopy(data.draw(_odd_values)))

    lines = [json.dumps(record).encode() for record in records]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sample.file
        path.write_bytes(b"\n".join(lines) + b"\n" if joined else lines[0] if lines else b"")
        _survives(path)
