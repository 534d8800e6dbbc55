"""The traces of a generated workload.

Equal settings give equal traces. A request is a turn of lengths and block hashes, whose prompt replays as filler text
(`replayer.requests.filler`); one with a response schema is an instruction in words, since its answer has a meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from replayer.requests.workload import BLOCK, Workload
from replayer.traces.filler import filler
from replayer.traces.schema import Fidelity, Header, Source, TokenShape, UserItem
from replayer.traces.writer import TraceWriter


@contextmanager
def generated(workloads: Sequence[Workload], seed: int) -> Iterator[dict[str, Path]]:
    """The traces of all workloads by name, in a folder that lives as long as the context."""
    with TemporaryDirectory(prefix="replayer-workload-") as folder:
        yield {
            name: _write(Path(folder, f"{name}.trace.jsonl"), workload, session, seed)
            for workload in workloads
            for session, name in enumerate(workload.traces)
        }


def _write(path: Path, workload: Workload, session: int, seed: int) -> Path:
    header = Header(
        trace_id=f"{workload.name}-{session:03}-{seed}",
        source=Source(format="generated", importer="replayer.workload"),
        fidelity=Fidelity(text="authored", usage="authored", boundaries="authored"),
        title=f"{workload.input_tokens} tokens in, {workload.output_tokens} out",
    )
    with TraceWriter(path, header) as writer:
        for request in range(workload.requests):
            key = f"{seed}/{workload.name}/{session}"
            if workload.response_schema is None:
                writer.add_turn(context=(), tokens=_shape(workload, key, request))
            else:
                _structured(writer, workload, f"{key}/{request}")
    return path


def _shape(workload: Workload, key: str, request: int) -> TokenShape:
    blocks = -(-workload.input_tokens // BLOCK)
    shared = int(workload.input_tokens * workload.shared_prefix) // BLOCK
    names = [f"{key}/{'' if block < shared else request}/{block}" for block in range(blocks)]
    return TokenShape(
        input_tokens=workload.input_tokens,
        output_tokens=workload.output_tokens,
        block_size=BLOCK,
        block_hashes=tuple(
            int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big") for name in names
        ),
    )


def _structured(writer: TraceWriter, workload: Workload, key: str) -> None:
    notes = filler(key, workload.input_tokens).strip()
    item = writer.add_item(UserItem(id=0, content=f"{workload.instruction}\n\n{notes}"))
    schema = {"name": workload.name, "strict": True, "schema": workload.response_schema}
    form = {"type": "json_schema", "json_schema": schema}
    writer.add_turn(context=(item,), params={"max_tokens": workload.output_tokens, "response_format": form})
