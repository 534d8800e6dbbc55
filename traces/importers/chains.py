"""Requests that go on from a stored response (`previous_response_id`), written out with all that they stand for.

The server that kept the response is not the one of a replay, and what that one would keep is its own answer. Written out,
every engine sees the recorded prompt, over any wire.
"""

from __future__ import annotations

from typing import NamedTuple

from replayer.lazy import Newest
from replayer.traces.chat import STYLES
from replayer.traces.importers.exchange import Exchange
from replayer.wire.types import Json

_KEPT = 4096
_NOTE = "requests went on from stored responses (previous_response_id); they are kept with the whole history written out"
_UNKNOWN = (
    "a request goes on from a response that was not recorded (previous_response_id): no other server knows it"
)


class _Stored(NamedTuple):
    """A response: the one that its request went on from, what that request added, and what came."""

    before: _Stored | None
    items: tuple[Json, ...]


class Chains:
    """The responses of a recording by their ids, the newest 4,096."""

    def __init__(self) -> None:
        self._stored: Newest[str, _Stored] = Newest(_KEPT)

    def write_out(self, exchange: Exchange) -> None:
        """Gives the exchange's request all the input that it stands for."""
        if exchange.wire != "responses":
            return
        asked, added = exchange.request, _items(exchange.request.get("input"))
        named = asked.get("previous_response_id")
        before = self._stored.get(named) if isinstance(named, str) else None
        if before is not None:
            kept = {key: value for key, value in asked.items() if key != "previous_response_id"}
            exchange.request = {**kept, "input": [*_history(before), *added]}
            styles = (style for style in STYLES.values() if style(asked) == exchange.raw)
            exchange.raw = next((style(exchange.request) for style in styles), None)
            exchange.set_wire("responses")
        if named:
            exchange.notes += (_UNKNOWN if before is None else _NOTE,)
        if exchange.response_id:
            self._stored[exchange.response_id] = _Stored(before, (*added, *exchange.output))


def _history(last: _Stored | None) -> list[Json]:
    links: list[_Stored] = []
    while last is not None:
        links.append(last)
        last = last.before
    return [item for link in reversed(links) for item in link.items]


def _items(given: Json) -> list[Json]:
    """A plain string is a message of the user's."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
