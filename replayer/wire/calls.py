"""Tool-call deltas to calls: by index where engines keep to it, by id or name where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from replayer.wire.limits import LIMITS, TooLarge, check_parts, mib, quoted
from replayer.wire.types import ToolCall

if TYPE_CHECKING:
    from replayer.wire.notes import Notes

_LOOKED_AT = 4 << 20
"""Characters of arguments, over all looks at them, up to which a repeated name may begin another call: each look reads them all."""


class _Call:
    __slots__ = ("freeform", "id", "looked_at", "name", "pieces", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        self.id: str | None = None
        self.name: str | None = None
        self.pieces: list[str] = []
        self.freeform = False
        self.looked_at = 0

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class CallAssembler:
    """The calls of one reply. Every breach of the protocol goes to `notes`; nothing is repaired silently."""

    def __init__(self, notes: Notes) -> None:
        self._note = notes.add
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids = 0

    def __len__(self) -> int:
        return len(self._calls)

    def open(self, call_id: object, name: object, pieces: list[str], freeform: bool = False) -> int:
        """A call that its wire announces by itself; its arguments will be appended to `pieces`. Returns its position."""
        call = self._append()
        self._keep_id(call, self._text(call_id, "id"))
        call.name = self._text(name, "name") or None
        call.pieces, call.freeform = pieces, freeform
        return call.position

    def name(self, position: int, name: str) -> str:
        """The name of a call as another event states it; returns the name known before, if there was one."""
        call = self._calls[position]
        call.name = call.name or name
        return call.name

    def identify(self, position: int, call_id: str) -> str | None:
        """The id of a call as another event states it; returns the id known before."""
        call = self._calls[position]
        self._keep_id(call, call.id or call_id)
        return call.id

    def pieces(self, position: int) -> list[str]:
        """The argument texts of a call, to append to."""
        return self._calls[position].pieces

    def feed(self, item: object) -> tuple[int, str | None, str | None]:
        """Take one element of `tool_calls`; returns (position, new text of the name, new text of the arguments)."""
        if not isinstance(item, dict):
            self._note("bad_field", f"an element of tool_calls is {_kind(item)}, not an object", None)
            return -1, None, None
        function = item.get("function")
        if not isinstance(function, dict):
            if function is not None:
                self._note("bad_field", f"`function` of a call is {_kind(function)}, not an object", None)
            function = {}
        call_id, name = self._text(item.get("id"), "id"), self._text(function.get("name"), "name")
        call = self._find(item.get("index"), call_id, name, function.get("arguments"))
        self._take_id(call, call_id)
        name_text = self._take_name(call, name)
        return call.position, name_text, self._take_arguments(call, function.get("arguments"))

    def finish(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        for call in self._calls:
            if not call.id:
                self._note("missing_id", "the call has no id", call.position)
            elif call.id in seen:
                self._note("duplicate_id", f"two calls have the id {call.id!r}", call.position)
            if not call.name:
                self._note("missing_name", "the call has no name", call.position)
            seen.add(call.id or "")
        return tuple(ToolCall(c.position, c.id, c.name, c.arguments, c.freeform) for c in self._calls)

    def _find(self, index: object, call_id: str | None, name: str | None, arguments: object) -> _Call:
        if type(index) is not int:  # a boolean is not an index
            return self._find_without_index(call_id, name, arguments)
        call = self._by_index.get(index)
        if call is None:
            if index != len(self._calls):
                message = f"call number {len(self._calls)} came with index {index}"
                self._note("index_out_of_order", message, len(self._calls))
        elif _is_another(call, call_id, name, arguments):
            self._note("repeated_index", f"another call came with index {index}", len(self._calls))
        else:
            return call
        return self._add(index)

    def _find_without_index(self, call_id: str | None, name: str | None, arguments: object) -> _Call:
        last = self._calls[-1] if self._calls else None
        new = last is None or _is_another(last, call_id, name, arguments)
        position = len(self._calls) if new else len(self._calls) - 1
        self._note("missing_index", "a call delta has no index", position)
        return self._add(position) if last is None or new else last

    def _add(self, index: int) -> _Call:
        call = self._by_index[index] = self._append()
        return call

    def _append(self) -> _Call:
        check_parts(len(self._calls))
        call = _Call(len(self._calls))
        self._calls.append(call)
        return call

    def _take_id(self, call: _Call, call_id: str | None) -> None:
        if call_id and call.id and call_id != call.id:
            self._note("changed_id", f"the id changed from {quoted(call.id)} to {call_id!r}", call.position)
        else:
            self._keep_id(call, call_id)

    def _keep_id(self, call: _Call, call_id: str | None) -> None:
        if call_id and call.id is None:
            self._ids += len(call_id)
            if self._ids > LIMITS.ids:
                raise TooLarge(f"the ids of calls are longer than {mib(LIMITS.ids)}")
            call.id = call_id

    def _take_name(self, call: _Call, name: str | None) -> str | None:
        if not name:
            return None
        if call.name is None:
            call.name = name
            return name
        if name == call.name:
            self._note("repeated_name", "the name came more than once", call.position)
            return None
        self._note("split_name", "the name came in pieces", call.position)
        call.name += name
        if len(call.name) > LIMITS.name:
            raise TooLarge(f"the name of a call is longer than {mib(LIMITS.name)}")
        return name

    def _take_arguments(self, call: _Call, arguments: object) -> str | None:
        if arguments is None:
            return None
        if not isinstance(arguments, str):
            self._note("arguments_object", f"arguments are {_kind(arguments)}, not a string", call.position)
            arguments = orjson.dumps(arguments).decode()
        if not arguments:
            return None
        if call.name is None:
            self._note("arguments_before_name", "arguments came before the name", call.position)
        call.pieces.append(arguments)
        return str(arguments)

    def _text(self, value: object, what: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        self._note("bad_field", f"`{what}` of a call is {_kind(value)}, not a string", None)
        return None


def _is_another(call: _Call, call_id: str | None, name: str | None, arguments: object) -> bool:
    """Whether a delta that names the index of `call` begins a new call.

    A name is what begins a call. An engine that repeats the name in every delta is distinguished from one that gives all
    calls the same index by the id and, where that does not tell, by whether the arguments so far are complete. One
    that makes up a new id for every delta is known by a piece of arguments that goes on where none came yet.
    """
    if not name or call.name is None:
        return False
    if call.looked_at > _LOOKED_AT:
        return name != call.name
    so_far = call.arguments
    call.looked_at += len(so_far)
    if call_id and call.id:
        goes_on = (
            not call.pieces and isinstance(arguments, str) and not _is_complete(arguments, or_empty=True)
        )
        complete = _is_complete(so_far, or_empty=True) and not goes_on
        return call_id != call.id and (name != call.name or complete)
    return bool(call.pieces) and (name != call.name or _is_complete(so_far))


def _is_complete(arguments: str, or_empty: bool = False) -> bool:
    if not arguments:
        return or_empty
    try:
        orjson.loads(arguments)
    except ValueError:
        return False
    return True


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
