"""A server that speaks the hub's protocol: the tree of a data set, and its files with ranges and redirects."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson


@dataclass
class Hub:
    """`files` of the one data set by path; `cuts` are the bytes after which the next answers break off."""

    files: dict[str, bytes]
    revision: str = "a" * 40
    stated: dict[str, str] = field(default_factory=dict)
    """Hashes that the tree states instead of the right ones."""
    cuts: list[int] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and range of every request for a file."""
    tokens: list[str | None] = field(default_factory=list)
    url: str = ""

    def tree(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"type": "directory", "path": "data"}]
        for path, data in self.files.items():
            entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data)}
            entry["oid"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            if len(data) > 1000:
                entry["lfs"] = {
                    "oid": self.stated.get(path, hashlib.sha256(data).hexdigest()),
                    "size": len(data),
                }
            found.append(entry)
        return found


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        base = f"/datasets/owner/set/resolve/{self.hub.revision}/"
        if path == f"/api/datasets/owner/set/tree/{self.hub.revision}":
            self.hub.tokens.append(self.headers.get("Authorization"))
            self._tree()
        elif path.startswith(base):
            self._answer(302, b"", {"Location": f"/cdn/{path.removeprefix(base)}"})
        elif path.removeprefix("/cdn/") in self.hub.files:
            self._file(path.removeprefix("/cdn/"))
        else:
            self._answer(404, b"", {})

    def _tree(self) -> None:
        """Two pages."""
        tree = self.hub.tree()
        if "cursor" in self.path:
            self._answer(200, orjson.dumps(tree[2:]), {})
        else:
            following = f"{self.hub.url}{self.path}&cursor=2"
            self._answer(200, orjson.dumps(tree[:2]), {"Link": f'<{following}>; rel="next"'})

    def _file(self, path: str) -> None:
        data, asked = self.hub.files[path], self.headers.get("Range")
        self.hub.asked.append((path, asked))
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        body = data[start:]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.hub.cuts.pop(0)] if self.hub.cuts else body)
        self.close_connection = True

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
