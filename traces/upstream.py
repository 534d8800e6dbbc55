"""Where the recording proxy sends requests."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from replayer.errors import TraceError


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where requests go. `path` is what the URL has behind the host, e.g. `/v1`."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None

    @property
    def authority(self) -> str:
        usual = 443 if self.tls else 80
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == usual else f"{name}:{self.port}"

    def target(self, target: str) -> str:
        """What to ask for: a client that already has the prefix, or the end of it, keeps that."""
        if "://" in target.partition("?")[0]:  # the form for forward proxies
            target = "/" + target.partition("://")[2].partition("/")[2]
        path, mark, query = target.partition("?")
        if not path.startswith("/"):
            return target
        segments = self.path.split("/")[1:]
        for known in range(len(segments) + 1):
            end = "".join(f"/{segment}" for segment in segments[known:])
            if path == end or path.startswith(f"{end}/"):
                return "".join(f"/{segment}" for segment in segments[:known]) + path + mark + query
        return target


def upstream(url: str, ca_file: str | None = None) -> Upstream:
    """`ca_file` holds certificates to trust instead of the system's. Raises TraceError for what is not an http(s) URL."""
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TraceError(f"--upstream {url!r}: {error}") from None
    if parts.username or parts.password or parts.query:
        raise TraceError(
            "--upstream: a user, a password or a query in the URL is not passed on; let the client send it"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TraceError(f"--upstream {url!r}: a URL like http://127.0.0.1:8000 is needed")
    tls = _trusting(ca_file) if parts.scheme == "https" else None
    return Upstream(parts.hostname, port or (443 if tls else 80), parts.path.rstrip("/"), tls)


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise TraceError(f"--ca-file {ca_file}: cannot be read ({error.strerror or error})") from None
