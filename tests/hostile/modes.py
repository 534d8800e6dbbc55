"""What must come of each mode: the kind of fault, and a word of its message. None: the reply is whole."""

from __future__ import annotations

Outcome = tuple[str | None, str]

NO_ANSWER: Outcome = ("timeout", "did not begin to answer within 1.5 s")
NO_TOKEN: Outcome = ("timeout", "sent no token within 1.5 s")
NOTHING_NEW: Outcome = ("timeout", "sent nothing new for 1.5 s")
NOT_WHOLE: Outcome = ("timeout", "was not complete within 4 s")
WHOLE: Outcome = (None, "")
FRAMING: Outcome = ("too_large", "256 KiB of headers and framing")
HEADERS: Outcome = ("too_large", "more than 256 headers")
EMPTY: Outcome = ("too_large", "more than 16,384 events without text or a call")
EVENTS: Outcome = ("too_large", "more than 262,144 events")
EVENT: Outcome = ("too_large", "an event is longer than 8 MiB")
TEXT: Outcome = ("too_large", "text is longer than 2 MiB")
CALLS: Outcome = ("too_large", "more than 1,024 calls")
OBJECTS: Outcome = ("too_large", "more than 48 MiB as JSON objects")
UNPACKED: Outcome = ("too_large", "unpack")
NO_HTTP: Outcome = ("stream_broken", "is not HTTP")
CLOSED: Outcome = ("stream_broken", "the server closed the connection")
UNREADABLE: Outcome = ("stream_broken", "cannot be read")
NO_REPLY: Outcome = ("server_error", "the answer is")
REDIRECTS: Outcome = ("unreachable", "redirects are not followed")

EXPECTED: dict[str, Outcome] = {
    "silent": NO_ANSWER,
    "stall_in_status": NO_ANSWER,
    "stall_in_headers": NO_ANSWER,
    "stall_after_headers": NO_TOKEN,
    "stall_after_role": NO_TOKEN,
    "stall_after_token": NOTHING_NEW,
    "stall_in_event": NO_TOKEN,
    "stall_in_chunk": NOTHING_NEW,
    "stall_after_finish": NOTHING_NEW,
    "stall_after_done": WHOLE,
    "stall_in_body": NOTHING_NEW,
    "stall_in_error": ("server_error", "error"),
    "drip_status_bytes": NO_ANSWER,
    "drip_one_header": NO_ANSWER,
    "drip_headers": NO_ANSWER,
    "drip_interim": NO_ANSWER,
    "drip_comments": NO_TOKEN,
    "drip_comments_after_token": NOTHING_NEW,
    "drip_comments_after_done": WHOLE,
    "drip_blank_lines": NOTHING_NEW,
    "drip_pings": NO_TOKEN,
    "drip_roles": NO_TOKEN,
    "drip_usages": NOTHING_NEW,
    "drip_trailers": NOTHING_NEW,
    "drip_one_trailer": NOTHING_NEW,
    "drip_extension": NOTHING_NEW,
    "drip_extensions": NOTHING_NEW,
    "drip_one_event": NO_TOKEN,
    "drip_one_line": NOTHING_NEW,
    "drip_json": NOTHING_NEW,
    "drip_error": ("server_error", "sorry"),
    "drip_tokens": NOT_WHOLE,
    "drip_texts": NOT_WHOLE,
    "drip_thoughts": NOT_WHOLE,
    "drip_calls": NOT_WHOLE,
    "drip_arguments": NOT_WHOLE,
    "drip_keys": NOTHING_NEW,
    "drip_token_ids": NOTHING_NEW,
    "drip_after_done": WHOLE,
    "drip_binary": NO_TOKEN,
    "drip_nothing_known": NO_TOKEN,
    "flood_status_bytes": FRAMING,
    "flood_one_header": FRAMING,
    "flood_headers": HEADERS,
    "flood_interim": FRAMING,
    "flood_comments": EMPTY,
    "flood_comments_after_token": EMPTY,
    "flood_comments_after_done": WHOLE,
    "flood_blank_lines": EMPTY,
    "flood_pings": EMPTY,
    "flood_roles": EMPTY,
    "flood_usages": EMPTY,
    "flood_trailers": HEADERS,
    "flood_one_trailer": FRAMING,
    "flood_extension": FRAMING,
    "flood_extensions": NOTHING_NEW,
    "flood_one_event": EVENT,
    "flood_one_line": EVENT,
    "flood_json": ("too_large", "the answer is longer than 8 MiB"),
    "flood_error": ("too_large", "the answer is longer than 8 MiB"),
    "flood_tokens": EVENTS,
    "flood_texts": TEXT,
    "flood_thoughts": TEXT,
    "flood_calls": CALLS,
    "flood_arguments": CALLS,
    "flood_keys": EMPTY,
    "flood_token_ids": ("too_large", "more than"),
    "flood_after_done": WHOLE,
    "flood_binary": EVENT,
    "flood_nothing_known": EMPTY,
    "bomb_gzip": EVENT,
    "bomb_deflate": EVENT,
    "bomb_gzip_twice": ("too_large", "than"),
    "bomb_gzip_often": ("too_large", "packed 9 times (limit 2)"),
    "bomb_gzip_members": ("too_large", "more than 1,000 gzip members"),
    "bomb_zstd": UNPACKED,
    "bomb_zstd_window": UNREADABLE,
    "bomb_brotli": UNPACKED,
    "bomb_lists": OBJECTS,
    "bomb_objects": OBJECTS,
    "bomb_depth": OBJECTS,
    "bomb_deep_objects": OBJECTS,
    "bomb_number": WHOLE,
    "bomb_string": TEXT,
    "bomb_many_calls": CALLS,
    "close_at_once": CLOSED,
    "close_in_headers": CLOSED,
    "close_after_token": CLOSED,
    "close_without_done": ("stream_broken", "without a finish reason"),
    "length_too_long": CLOSED,
    "length_too_short": ("stream_broken", "without a finish reason"),
    "length_negative": NO_HTTP,
    "length_huge": NO_HTTP,
    "length_and_chunks": NO_HTTP,
    "chunk_size_no_number": NO_HTTP,
    "chunk_size_huge": NO_HTTP,
    "no_http": NO_HTTP,
    "http2": NO_HTTP,
    "http_0_9": NO_HTTP,
    "gzip_cut": NO_REPLY,
    "gzip_is_none": UNREADABLE,
    "encoding_unknown": ("stream_broken", "content encoding 'lzma'"),
    "redirect": REDIRECTS,
    "redirect_to_itself": REDIRECTS,
    "page": NO_REPLY,
    "empty": NO_REPLY,
    "no_content": NO_REPLY,
    "upgrade": NO_HTTP,
    "error_as_success": ("server_error", "no"),
    "error_in_stream": ("server_error", "died"),
    "wrong_types": WHOLE,
    "status_429": ("overloaded", "busy"),
    "status_503": ("overloaded", "busy"),
    "status_999": ("server_error", "x"),
    "two_replies": WHOLE,
    "reset_at_once": ("stream_broken", "broke before it answered"),
    "reset_in_answer": ("stream_broken", "broke in the middle"),
}
ROUGH = ("flood", "bomb")
"""Modes that keep their server itself busy: they have one of their own."""
UNFINISHED = ("timeout", "server_error")
"""Beside other work, a flood may not reach its limit in the time that it has."""
