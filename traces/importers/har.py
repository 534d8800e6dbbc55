"""HAR 1.2 captures of a browser or proxy: the chat completions among their entries.

Projection P: as for request logs, with the bytes of each request where the capture holds them. Entries that are no
chat completion are dropped; headers, cookies and keys are never read.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Iterator

import pyzstd

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.chat_log import is_request, with_response
from replayer.traces.importers.exchange import Exchange
from replayer.traces.importers.exchanges import conversations
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.unpack import unpacked_zstd
from replayer.traces.importers.values import as_dict, as_list, as_str, epoch, loads
from replayer.traces.schema import Fidelity, Times
from replayer.wire.types import JsonObject


class Har(Importer):
    format = "har"
    fidelity = Fidelity(text="recorded", arguments="recorded", boundaries="recorded")
    experimental = True

    def matches(self, probe: Probe) -> bool:
        return isinstance(as_dict(as_dict(probe.document).get("log")).get("entries"), list)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        entries = as_list(as_dict(as_dict(probe.document).get("log")).get("entries"))
        exchanges = [found for entry in entries if (found := _exchange(as_dict(entry)))]
        if len(exchanges) < len(entries):
            probe.warn(
                f"entries that are not chat completions, and are left out: {len(entries) - len(exchanges)}"
            )
        yield from conversations(exchanges)


def _exchange(entry: JsonObject) -> Exchange | None:
    text = _body(as_dict(as_dict(entry.get("request")).get("postData")))
    try:
        request = loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(request, dict) or not is_request(request):
        return None
    exchange = Exchange(request=request, raw=as_str(text).encode(), times=_times(entry))
    response = as_dict(entry.get("response"))
    answer = _body(as_dict(response.get("content")))
    exchange = with_response(exchange, answer)
    status = response.get("status")
    if isinstance(status, int) and status >= 400:
        exchange.finish_reason = "error"
        exchange.notes = (f"a request was answered with status {status}",)
    elif exchange.reply is None:
        exchange.notes = (
            "a reply cannot be read: the capture holds no body of it, or one in an unknown form",
        )
    return exchange


def _body(content: JsonObject) -> str | None:
    """The text of a body; captures keep what is not text, or is packed as it passed, in base64. None: unreadable."""
    text = as_str(content.get("text"))
    if content.get("encoding") != "base64":
        return text
    try:
        data = base64.b64decode(text)
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return unpacked_zstd(data).decode()
    except (binascii.Error, ValueError, EOFError, OSError, zlib.error, pyzstd.ZstdError):
        return None


def _times(entry: JsonObject) -> Times | None:
    """HAR gives milliseconds: waiting ends with the first byte of the response."""
    started = epoch(entry.get("startedDateTime"))
    if started is None:
        return None
    spent = {k: v for k, v in as_dict(entry.get("timings")).items() if isinstance(v, int | float) and v > 0}
    before = sum(spent.get(key, 0) for key in ("blocked", "dns", "connect", "ssl", "send", "wait"))
    total = entry.get("time")
    ended = started + total / 1000 if isinstance(total, int | float) else None
    return Times(started=started, first_token=started + before / 1000 if spent else None, ended=ended)
