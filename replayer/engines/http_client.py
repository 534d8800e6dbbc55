"""HTTP for everything that is not timed: an engine's facts, metrics and resets."""

from __future__ import annotations

from typing import Any

import httpx

from replayer.wire.dial import environment_proxy, read_url, tls_context


def http_client(url: str, **options: Any) -> httpx.AsyncClient:
    """A client that goes to `url` the way that the timed streams go: through the environment's proxy, but never
    for this very machine. httpx by itself would ask a proxy for 127.0.0.1.

    Raises PlanError for a URL, or a proxy, that makes no sense.
    """
    origin, _ = read_url(url)
    proxy = environment_proxy(origin)
    if proxy is not None:
        read_url(proxy, "the proxy")
    secure = "https" in (origin.scheme, (proxy or "").partition(":")[0])
    return httpx.AsyncClient(
        proxy=proxy, verify=tls_context(True) if secure else False, trust_env=False, **options
    )
