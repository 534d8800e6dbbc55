"""More modes, as bytes: what a server sends first, and what then comes for ever (b"": it closes; None: it says no more)."""

from __future__ import annotations

import gzip
import zlib

import zstandard

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
OPEN = HEAD + b"Connection: close\r\n\r\n"
WORD = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
BODY = WORD + END
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
JSON = (
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":3,"completion_tokens":1}}'
)


def sized(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def packed(data: bytes, *encodings: bytes) -> bytes:
    return sized(data, HEAD + b"Connection: close\r\nContent-Encoding: %b\r\n" % b", ".join(encodings))


_ZSTD = zstandard.ZstdCompressor().compress
ODD: dict[str, tuple[bytes, bytes | None]] = {
    "no_http": (b"220 mail.example ESMTP\r\n" * 10, b""),
    "http2": (b"\0\0\x12\x04\0\0\0\0\0" * 9, b""),
    "http_0_9": (BODY, b""),
    "empty": (sized(b""), b""),
    "page": (sized(b"<html>" + b"<p>" * 99), b""),
    "hints_then_reply": (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 3 + OPEN + BODY, b""),
    "continue_for_ever": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "processing_then_silent": (b"HTTP/1.1 102 Processing\r\n\r\n", None),
    "hex_upper_and_zeros": (CHUNKED + b"000000%X\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY), None),
    "hex_prefixed": (CHUNKED + b"0x%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY), None),
    "hex_signed": (CHUNKED + b"+%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY), None),
    "hex_negative": (CHUNKED + b"-5\r\n" + BODY, None),
    "hex_underscored": (CHUNKED + b"1_0\r\n" + BODY, None),
    "hex_too_long": (CHUNKED + b"0" * 70_000 + b"5\r\n" + BODY, b"0"),
    "chunk_without_end": (CHUNKED + b"%x\r\n%bXX" % (len(BODY), BODY), None),
    "chunk_of_line_feeds": (CHUNKED.replace(b"\r\n", b"\n") + b"%x\n%b\n0\n\n" % (len(BODY), BODY), None),
    "chunked_twice": (
        HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
        b"",
    ),
    "transfer_gzip": (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + gzip.compress(BODY), b""),
    "length_beyond_body": (HEAD + b"Content-Length: 100000\r\n\r\n" + BODY[:-20], b""),
    "length_twice": (HEAD + b"Content-Length: 9\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY, b""),
    "length_hex": (HEAD + b"Content-Length: 0x40\r\n\r\n" + BODY, b""),
    "length_zero_with_body": (HEAD + b"Content-Length: 0\r\n\r\n" + BODY, b""),
    "gzip_of_zstd": (packed(gzip.compress(_ZSTD(BODY)), b"zstd", b"gzip"), None),
    "gzip_said_zstd_sent": (packed(_ZSTD(BODY), b"gzip"), None),
    "zstd_said_gzip_sent": (packed(gzip.compress(BODY), b"zstd"), None),
    "gzip_stalls": (
        HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(BODY)[:12],
        None,
    ),
    "gzip_then_rubbish": (packed(gzip.compress(BODY) + b"rubbish" * 99, b"gzip"), None),
    "gzip_header_for_ever": (
        HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\x03",
        b"n" * 64,
    ),
    "deflate_without_zlib": (packed(zlib.compress(BODY)[2:-4], b"deflate"), None),
    "line_without_end": (OPEN + WORD + b"data: ", b"x" * 64),
    "field_without_end": (OPEN, b"datadata" * 8),
    "bom_at_start": (OPEN + b"\xef\xbb\xbf" + BODY, b""),
    "bom_for_ever": (OPEN, b"\xef\xbb\xbf"),
    "bom_in_each": (OPEN + WORD + b"\xef\xbb\xbf" + WORD + END, b""),
    "utf16": (OPEN + BODY.decode().encode("utf-16"), b""),
    "returns_only": (OPEN + BODY.replace(b"\n", b"\r"), b""),
    "returns_for_ever": (OPEN + WORD.replace(b"\n", b"\r"), b"\r"),
    "feeds_and_returns": (OPEN + BODY.replace(b"\n", b"\n\r"), b""),
    "done_for_ever": (OPEN + BODY, b"data: [DONE]\n\n"),
    "errors_after_done": (OPEN + BODY, b'data: {"error":{"message":"late"}}\n\n'),
    "errors_for_ever": (OPEN, b'data: {"error":null}\n\n'),
    "retry_for_ever": (OPEN, b"retry: 1\n\n"),
    "ids_for_ever": (OPEN + WORD, b"id: 1\n\n"),
    "empty_data_for_ever": (OPEN, b"data:\n\n"),
    "nul_for_ever": (OPEN + WORD, b"\0" * 16),
    "old_http_keep_alive": (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n" + BODY, None),
    "old_http_chunked": (
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
        b"",
    ),
    "http_1_9": (b"HTTP/1.9 200 OK\r\nConnection: close\r\n\r\n" + BODY, b""),
    "http_3": (b"HTTP/3.0 200 OK\r\nConnection: close\r\n\r\n" + BODY, b""),
    "status_of_words": (b"HTTP/1.1 OK\r\n\r\n" + BODY, b""),
    "status_1000": (b"HTTP/1.1 1000 OK\r\n\r\n" + BODY, b""),
    "status_000": (b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", b""),
    "no_content_with_body": (
        b"HTTP/1.1 204 No Content\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
        b"",
    ),
    "not_modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", None),
    "partial": (sized(BODY, b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-9/10\r\n"), b""),
    "websocket": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"\x89\x00",
    ),
    "upgrade_required": (sized(b"", b"HTTP/1.1 426 Upgrade\r\nUpgrade: h2c\r\n"), b""),
    "proxy_login": (sized(b"", b"HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic\r\n"), b""),
    "wait_a_year": (sized(b"{}", b"HTTP/1.1 429 Busy\r\nRetry-After: 31536000\r\n"), b""),
    "wait_nan": (sized(b"{}", b"HTTP/1.1 503 Busy\r\nRetry-After: nan\r\n"), b""),
    "folded_header": (HEAD + b"X-A: 1\r\n  2\r\nConnection: close\r\n\r\n" + BODY, b""),
    "header_with_nul": (HEAD + b"X-\0A: 1\r\nConnection: close\r\n\r\n" + BODY, b""),
    "header_without_colon": (HEAD + b"nonsense\r\nConnection: close\r\n\r\n" + BODY, b""),
    "header_name_with_space": (HEAD + b"Content-Length : 5\r\n\r\n" + BODY, b""),
    "plain_json": (sized(JSON, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), b""),
    "json_as_event_stream": (sized(JSON), b""),
    "json_then_white_space": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + JSON, b" \n"),
    "json_lines": (OPEN + JSON + b"\n" + JSON + b"\n", b""),
    "two_documents": (sized(JSON + JSON), b""),
    "finish_for_ever": (OPEN + WORD, END.partition(b"data: [DONE]")[0]),
    "surrogates": (OPEN + WORD.replace(b"word ", b"\\ud800") + END, b""),
    "nan": (OPEN + b'data: {"choices":[{"index":NaN,"delta":{"content":"x"}}]}\n\n' + END, b""),
    "choice_far_away": (OPEN + WORD.replace(b'"index":0', b'"index":4000000000') + END, b""),
    "tool_index_huge": (
        OPEN
        + b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1000000000000,"function":{"name":"f"}}]}}]}\n\n'
        + END,
        b"",
    ),
}
BOMBS = {
    "lists": b'data: {"x":[' + b"[]," * 2_500_000 + b"0]}\n\n",
    "objects": b'data: {"x":[' + b'{"a":1},' * 900_000 + b"0]}\n\n",
    "depth": b"data: " + b"[" * 4_000_000 + b"\n\n",
    "deep_objects": b"data: " + b'{"a":' * 500_000 + b"\n\n",
    "number": b'data: {"choices":[],"x":1' + b"0" * 4_000_000 + b"}\n\n",
    "string": WORD.replace(b"word ", b"x" * 6_000_000),
    "many_calls": b'data: {"choices":[{"index":0,"delta":{"tool_calls":[%b]}}]}\n\n'
    % b",".join(b'{"index":%d}' % n for n in range(100_000)),
}
ODD |= {f"bomb_{name}": (OPEN + event + BODY, b"") for name, event in BOMBS.items()}
