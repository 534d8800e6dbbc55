"""Generated tokens as server-sent events, in the kind's own form."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from replayer.simulated.accepted import Job, argument_form, call_id, commits
from replayer.simulated.generation import Piece
from replayer.simulated.token_bytes import ids
from replayer.wire.types import JsonObject


class Events:
    """Turns pieces into server-sent events in the kind's own form."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._kind = job.kind
        self._base = job.kind.base(job.kind.request_id(job.ticket), job.model)
        self._ids = bytearray()
        self._late_role = commits(job, "call_before_role")
        self._begun: set[int] = set()
        """Calls whose first delta was lost."""

    def first(self) -> bytes:
        if self._late_role:
            return b""
        chunk = self._kind.chunk(self._base, self._kind.role(), None)
        if self._job.prompt_ids is not None:
            chunk["prompt_token_ids"] = self._job.prompt_ids
        return event(chunk)

    def of(self, pieces: list[Piece]) -> bytes:
        self._ids += b"".join(piece.token for piece in pieces)
        out = b"".join(self._delta(delta) for delta in self._merge(self._lost(pieces)))
        if out and self._late_role:
            self._late_role = False
            out += event(self._kind.chunk(self._base, self._kind.role(), None))
        return out

    def end(self) -> bytes:
        job, kind = self._job, self._kind
        chunk = kind.last(self._base, kind.finish_reason(job.generation.finish), job.counts, job.wants_usage)
        out = event(self._with_ids(chunk))
        if commits(job, "delta_after_finish"):
            out += event(kind.chunk(self._base, kind.text("content", " (late)"), None))
        if job.wants_usage and "no_usage" not in job.wire:
            usage = kind.usage_chunk(self._base, job.counts)
            if "null_details" in job.wire:
                usage["usage"]["prompt_tokens_details"] = None
            out += event(usage)
        return out

    def done(self) -> bytes:
        """What ends a whole stream."""
        return b"data: [DONE]\n\n"

    def error(self, message: str) -> bytes:
        """An error in the middle of the stream."""
        error = {"message": message, "type": "InternalServerError", "code": 500}
        return event({"error": error}) + self.done()

    def _delta(self, delta: JsonObject) -> bytes:
        return event(self._with_ids(self._kind.chunk(self._base, delta, None)))

    def _with_ids(self, chunk: JsonObject) -> JsonObject:
        if self._job.prompt_ids is not None:
            chunk["choices"][0]["token_ids"] = ids(bytes(self._ids))
            self._ids.clear()
        return chunk

    def _lost(self, pieces: list[Piece]) -> list[Piece]:
        """What an adapter that streams loses: the first delta of a call, or which call its arguments belong to."""
        faults = self._job.wire
        if "merged_calls" in faults:
            pieces = [piece._replace(call=0, opens=False) if piece.call > 0 else piece for piece in pieces]
        if "first_delta_dropped" in faults:
            pieces = [self._without_first(piece) for piece in pieces]
        return pieces

    def _without_first(self, piece: Piece) -> Piece:
        if piece.channel != "arguments" or not piece.text or piece.call in self._begun:
            return piece
        self._begun.add(piece.call)
        return piece._replace(text="")

    def _merge(self, pieces: list[Piece]) -> Iterator[JsonObject]:
        """Tokens of one turn that belong to the same text travel in one event."""
        run: list[str] = []
        last: Piece | None = None
        for piece in pieces:
            if last is not None and (piece.opens or (piece.channel, piece.call) != (last.channel, last.call)):
                yield from self._text(last, "".join(run))
                run = []
            if piece.opens:
                yield self._open(piece.call)
            last = piece
            run.append(piece.text)
        if last is not None:
            yield from self._text(last, "".join(run))

    def _text(self, piece: Piece, text: str) -> Iterator[JsonObject]:
        if not text or not piece.channel:
            return
        if piece.channel != "arguments":
            yield self._kind.text(piece.channel, text)
        elif not commits(self._job, "arguments_object"):
            yield self._kind.arguments(self._index(piece.call), text)

    def _open(self, number: int) -> JsonObject:
        call = self._job.reply.calls[number]
        whole = argument_form(self._job, call.arguments)
        arguments = "" if isinstance(whole, str) else whole
        return self._kind.call(self._index(number), call_id(self._job, number), call.name, arguments)

    def _index(self, number: int) -> int:
        index = self._job.reply.calls[number].index
        return number if index is None else index


def event(chunk: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def named_event(payload: JsonObject) -> bytes:
    """An event as Messages and Responses write it, its type in a line of its own."""
    return b"event: %b\ndata: %b\n\n" % (payload["type"].encode(), orjson.dumps(payload))
