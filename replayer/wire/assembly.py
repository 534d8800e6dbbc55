"""Body bytes to a reply: cut into events, read by the reader of the wire they came over."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from operator import sub

import orjson

from replayer.wire import counts, extras
from replayer.wire.chat_reader import ChatReader
from replayer.wire.limits import LIMITS, TooLarge, mib, parsed_size
from replayer.wire.messages_reader import MessagesReader
from replayer.wire.parts import Parts, WireReader
from replayer.wire.payload import read_json
from replayer.wire.responses_reader import ResponsesReader
from replayer.wire.sse import SseSplitter, payload_start, read_block
from replayer.wire.template import Template, learn
from replayer.wire.types import Delta, JsonObject, ToolCall, Wire

_loads = orjson.loads
_QUOTE = ord('"')
_new = tuple.__new__
_LEARNT_BYTES = 64 << 10
"""Longest event that later ones may be like: to learn from it takes a hundred times its size."""
_TRIES = 8
"""Events at most that are read one by one before or between runs, and runs, of what comes at once."""

READERS: dict[Wire, type[ChatReader] | type[MessagesReader] | type[ResponsesReader]] = {
    "chat": ChatReader,
    "messages": MessagesReader,
    "responses": ResponsesReader,
}


def wire_of(chunk: object) -> Wire:
    """The wire that an event or a whole body belongs to; chat where nothing says another."""
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    if isinstance(kind, str):
        if kind.startswith("response."):
            return "responses"
        if kind == "message" or kind.startswith(("message_", "content_block_")) or kind == "ping":
            return "messages"
    return "responses" if isinstance(chunk, dict) and chunk.get("object") == "response" else "chat"


class Assembler:
    """Fed with body bytes; `parts` is what is known so far.

    `wire` of None: taken from the first event that says which. `joins`: text that comes together may be one delta.
    """

    def __init__(self, wire: Wire | None = "chat", *, joins: bool = False) -> None:
        self.parts = Parts()
        self._joins = joins
        self.done_at: int | None = None
        """When the wire's own end arrived, in a stream."""
        self._reader: WireReader | None = READERS[wire](self.parts) if wire else None
        self._splitter = SseSplitter()
        self._template: Template | None = None
        self._read_by_template = 0
        self._hits = -1  # events that templates had read when the last one was learnt
        self._patience = 0
        self._learn_after = 0
        self._kept = 0

    @property
    def wire(self) -> Wire:
        return self._reader.wire if self._reader else "chat"

    @property
    def done(self) -> bool:
        return self.parts.done

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, complete; what is wrong with them as a whole is noted now."""
        if self._reader is not None:
            self._reader.finish()
        if wrong := counts.unreadable(self.parts.extra.get("usage") or self.parts.usage):
            self.parts.notes.add("bad_field", f"a count of `usage` cannot be read, {wrong}")
        return self.parts.calls.finish()

    def feed(self, data: bytes, at: int) -> list[Delta]:
        """Body bytes of a stream that arrived at `at`; returns the deltas that they complete."""
        return self.feed_all([data], [at])

    def feed_all(self, packets: list[bytes], stamps: Sequence[int]) -> list[Delta]:
        """The same of what came one after another and is read at once: each event has the stamp of its last byte.

        `packets` are used up."""
        done, tries = 0, _TRIES
        while done < len(packets):
            template = self._template
            if tries and (template is None or template.counted is None):
                tries -= 1
                if template is None or not (
                    self._splitter.between and packets[done].startswith(template.opening)
                ):
                    if self._takes_one(packets, stamps, done):
                        continue
                else:
                    known = len(self.parts.arrivals)
                    done = self._take_run(template, packets, stamps, done)
                    if len(self.parts.arrivals) > known:
                        continue
                    tries = 0
            self._feed(packets[done], stamps[done])
            done += 1
        return self._drain()

    def _feed(self, data: bytes, at: int) -> None:
        splitter, parts = self._splitter, self.parts
        self._take_blocks(splitter.feed(data), at)
        if splitter.blocks - len(parts.arrivals) > LIMITS.empty and not parts.done:
            raise TooLarge(f"the stream has more than {LIMITS.empty:,} events without text or a call")
        if parts.done and self.done_at is None:
            self.done_at = at

    def flush(self, at: int) -> list[Delta]:
        """The body ended: an event that lacks its blank line still counts."""
        self._take_blocks(self._splitter.flush(), at)
        return self._drain()

    def whole(self, data: bytes, at: int) -> list[Delta]:
        """The body of a reply that was not streamed."""
        self.parts.streamed = False
        chunk = self._read(data, named_error=False)
        if chunk is not None:
            self.parts.done = self._reader_of(chunk).whole(chunk, at)
        return self._drain()

    def _take_blocks(self, blocks: list[bytes], at: int) -> None:
        for block in blocks:
            template = self._template
            if (
                template is None
                or not block.startswith(template.prefix)
                or not block.endswith(template.suffix)
            ):
                self._take_block(block, at)
                continue
            quoted = block[template.start : template.stop]
            try:  # white space around the string may be a line that belongs to no field
                text = _loads(quoted) if quoted[-1] == quoted[0] == _QUOTE else None
            except (orjson.JSONDecodeError, IndexError):
                text = None
            if text.__class__ is not str or not text:
                self._take_block(block, at)
                continue
            if template.counted is not None:
                template.count()
            template.pieces.append(text)
            self._read_by_template += 1
            self.parts.arrivals.append(at)
            self.parts.deltas.append(_new(Delta, (at, template.channel, text, template.call_index, 1)))

    def _takes_one(self, packets: list[bytes], stamps: Sequence[int], done: int) -> bool:
        """The first event that the next packet ends, so that what follows may be a run: the packet has lost its beginning.

        Returns whether another event begins there."""
        data = packets[done]
        end = data.find(b"\n\n") + 2
        if end == 1 or end == len(data):
            return False
        packets[done] = data[end:]
        self._feed(data[:end], stamps[done])
        return self._splitter.between

    def _take_run(self, template: Template, packets: list[bytes], stamps: Sequence[int], done: int) -> int:
        """Events that are alike in everything but their strings, and the first of what is not `done`, in one decoding.

        Nothing is taken where another is among them, or one whose string is not plain. Returns how many packets are
        done; the next one may have lost its beginning."""
        opening, closing = template.opening, template.closing
        data = packets[done] if done + 1 == len(packets) else b"".join(packets[done:])
        end = len(data) - len(closing) if data.endswith(closing) else data.rfind(closing)
        if end <= len(template.seam):
            return done
        inner = template.strings(data[len(opening) : end])
        count, texts = _decoded(inner, together=self._joins)
        if not count:
            return done
        self._splitter.skip(count)
        template.pieces += texts
        self._read_by_template += count
        parts, known = self.parts, len(self.parts.arrivals)
        around = len(opening) + len(closing)
        ends = [*accumulate(map(around.__add__, map(len, inner)))]
        done = _stamp(parts.arrivals, ends, packets, stamps, done)
        channel, call, pieces = template.channel, template.call_index, count // len(texts)
        if pieces > 1:
            parts.deltas.append(_new(Delta, (parts.arrivals[-1], channel, texts[0], call, pieces)))
            return done
        for at, text in zip(parts.arrivals[known:], texts, strict=True):
            parts.deltas.append(_new(Delta, (at, channel, text, call, 1)))
        return done

    def _take_block(self, block: bytes, at: int) -> None:
        if self._template is not None and self._template.counted is not None and self._reader is not None:
            self._reader.counted(self._template.counted.number)
        self._template = None
        start = payload_start(block)
        if start is None:
            if event := read_block(block):
                self._take_event(event.data, at, event.event == "error")
            return
        parts = self.parts
        known = len(parts.deltas), len(parts.calls), len(parts.notes)
        chunk = self._take_event(block[start:], at, block.startswith(b"event: error\n"))
        known_now = len(parts.deltas) - 1, len(parts.calls), len(parts.notes)
        plain = parts.once and parts.finish_reason is None and parts.error is None
        if chunk is not None and plain and known == known_now and len(block) < _LEARNT_BYTES:
            self._learn(block, start, chunk)

    def _learn(self, block: bytes, start: int, chunk: JsonObject) -> None:
        """Learn from a chunk that gave one delta and nothing else; ever more rarely where it never pays off."""
        if self._learn_after > 0:
            self._learn_after -= 1
            return
        hits = self._read_by_template
        self._patience = min(2 * self._patience + 1, 63) if hits == self._hits else 0
        self._learn_after = self._patience
        self._hits = hits
        if self._reader is not None:
            self._template = learn(block, start, chunk, self.parts.deltas[-1], self._reader)

    def _drain(self) -> list[Delta]:
        deltas, self.parts.deltas = self.parts.deltas, []
        return deltas

    def _take_event(self, data: bytes, at: int, named_error: bool = False) -> JsonObject | None:
        if data == b"[DONE]" and self.wire != "chat":  # gateways add it to every stream
            return None
        if self.parts.done:
            self.parts.notes.add("data_after_done", "an event came after the end of the reply")
        elif data == b"[DONE]":
            self.parts.done = True
        elif (chunk := self._read(data, named_error)) is not None:
            parts = self.parts
            known, parts.once = len(parts.extra), True
            self._reader_of(chunk).event(chunk, at)
            if not parts.once or len(parts.extra) > known:
                self._keep(data)
            return chunk
        return None

    def _keep(self, data: bytes) -> None:
        """An event added to what is kept beside the text."""
        self._kept += parsed_size(data)
        if self._kept > LIMITS.kept:
            raise TooLarge(
                f"what the server adds to the text (token ids, log probabilities) takes more than {mib(LIMITS.kept)}"
            )

    def _reader_of(self, chunk: JsonObject) -> WireReader:
        if self._reader is None:
            reader = READERS[wire_of(chunk)](self.parts)
            if self.parts.error is not None:  # an error says nothing about its wire
                return reader
            self._reader = reader
        return self._reader

    def _read(self, data: bytes, named_error: bool) -> JsonObject | None:
        """The object of an event or a body, an error stated in it taken out; None where it holds none."""
        notes = self.parts.notes
        try:
            chunk, codes = read_json(data)
        except TooLarge:
            raise
        except ValueError as error:
            chunk, codes = None, []
            notes.add("bad_event", f"not JSON ({error}): {_excerpt(data)}")
        for code in codes:
            notes.add(code, f"in {_excerpt(data)}")
        is_object = isinstance(chunk, dict)
        named_error = named_error or (is_object and chunk.get("type") == "error")
        if named_error or (is_object and not chunk.keys().isdisjoint(("error", "message", "detail"))):
            self._take_error(chunk, data.decode("utf-8", "replace"), named_error)
        if is_object:
            return chunk  # type: ignore[no-any-return]
        if chunk is not None:
            notes.add("bad_event", f"not an object: {_excerpt(data)}")
        return None

    def _take_error(self, chunk: object, text: str, named: bool) -> None:
        """Where the event is named `error`, all of its data is the error object."""
        if named and not (isinstance(chunk, dict) and "error" in chunk):
            chunk = {"error": chunk or text}
        self.parts.error = extras.read_error(chunk, text) or self.parts.error


def _decoded(inner: list[bytes], *, together: bool) -> tuple[int, list[str]]:
    """How many JSON strings without their quotes there are, and their texts, or one of all; none where one of them is
    empty or not a string."""
    if not inner or not all(inner):
        return 0, []
    if together:
        whole = b"".join(inner)
        if whole.isascii() and b"\\" not in whole and b'"' not in whole:
            text = whole.decode()
            return (len(inner), [text]) if text.isprintable() else (0, [])
    listed = b'",\n"'.join(inner)
    if (
        listed.count(b"\n") != len(inner) - 1
    ):  # no JSON string holds a line break: none reaches into the next event
        return 0, []
    try:
        texts = _loads(b'["%b"]' % listed)
    except orjson.JSONDecodeError:
        return 0, []
    if len(texts) != len(inner) or {*map(type, texts)} != {str}:
        return 0, []
    return len(inner), ["".join(texts)] if together else texts


def _stamp(
    arrivals: array[int], ends: list[int], packets: list[bytes], stamps: Sequence[int], done: int
) -> int:
    """Give whole events, which end so many bytes on, the stamps of the packets that completed them.

    Returns how many packets are done; what is left of the next one stays."""
    stops = [*accumulate(map(len, packets[done:] if done else packets))]
    if stops == ends:  # as most arrive
        arrivals.extend(stamps[done:] if done else stamps)
        return len(packets)
    whole = bisect_left(stops, ends[-1])
    ended = [*map(partial(bisect_right, ends), stops[: whole + 1])]
    for at, count in zip(stamps[done:], map(sub, ended, [0, *ended]), strict=False):
        arrivals.extend(array("q", (at,)) * count)
    if left := stops[whole] - ends[-1]:
        packets[done + whole] = packets[done + whole][-left:]
        return done + whole
    return done + whole + 1


def _excerpt(data: bytes) -> str:
    return data[:200].decode("utf-8", "replace")
