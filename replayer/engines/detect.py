"""Finds out what a server is by what it answers, and gives the adapter of its kind."""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import urlsplit

import httpx

from replayer.engines.base import Engine, EngineKind
from replayer.engines.http import http_client
from replayer.engines.llamacpp import IkLlamaEngine, LlamaCppEngine
from replayer.engines.openai import PROBE_SECONDS, OpenAIEngine
from replayer.engines.sglang import SglangEngine
from replayer.engines.trtllm import TrtLlmEngine
from replayer.engines.vllm import VllmEngine
from replayer.errors import EngineUnavailable, PlanError
from replayer.text import nearest

ADAPTERS: dict[EngineKind, type[OpenAIEngine]] = {
    "openai": OpenAIEngine,
    "llamacpp": LlamaCppEngine,
    "ik_llama": IkLlamaEngine,
    "vllm": VllmEngine,
    "sglang": SglangEngine,
    "trtllm": TrtLlmEngine,
}
OWNERS: dict[str, EngineKind] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt_llm": "trtllm",
    "llamacpp": "llamacpp",
}
"""`owned_by` of a listed model."""


def base_url_of(url: str) -> str:
    """The URL that ends where `/chat/completions` follows; a bare host gets `/v1`. Raises PlanError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise PlanError(f"{url!r} is not the URL of a server, for example http://127.0.0.1:8000/v1")
    trimmed = url.rstrip("/").removesuffix("/chat/completions")
    return trimmed if urlsplit(trimmed).path.strip("/") else trimmed + "/v1"


async def connect(
    base_url: str,
    *,
    kind: str | None = None,
    api_key: str | None = None,
    http: httpx.AsyncClient | None = None,
) -> Engine:
    """The adapter of the server at a URL. It owns `http` from now on and closes it.

    Raises EngineUnavailable when nothing answers or the key is refused, PlanError for an unknown kind.
    """
    if kind is not None and kind not in get_args(EngineKind):
        raise PlanError(f"no engine kind {kind!r}{nearest(kind, get_args(EngineKind))}")
    url = base_url_of(base_url)
    client = http or http_client(url, follow_redirects=True)
    if api_key is not None:
        client.headers["Authorization"] = f"Bearer {api_key}"
    try:
        found = await _first_answer(client, url, has_key=api_key is not None)
        chosen = _known(kind) if kind is not None else await _detect(client, url, found)
        return ADAPTERS[chosen](url, client)
    except BaseException:
        await client.aclose()
        raise


def _known(kind: str) -> EngineKind:
    return next(known for known in ADAPTERS if known == kind)


async def _first_answer(client: httpx.AsyncClient, url: str, *, has_key: bool) -> httpx.Response:
    try:
        reply = await client.get(f"{url}/models", timeout=PROBE_SECONDS)
    except httpx.TimeoutException:
        raise EngineUnavailable(
            f"{url} did not answer within {PROBE_SECONDS:g} s; is the server up, or still loading its model?"
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise EngineUnavailable(f"{url} cannot be reached ({reason}); is the server running there?") from None
    if reply.status_code in (401, 403):
        advice = (
            "check the variable named by api_key_env" if has_key else "name one with api_key_env=VARIABLE"
        )
        what = "refuses this API key" if has_key else "wants an API key"
        raise EngineUnavailable(f"{url} {what} (status {reply.status_code}); {advice}")
    if reply.status_code in (502, 503, 504):
        raise EngineUnavailable(
            f"{url} answers with status {reply.status_code}; is the server still starting?"
        )
    return reply


async def _detect(client: httpx.AsyncClient, url: str, models: httpx.Response) -> EngineKind:
    """By the owner of its models; behind a gateway that rewrites those, by the endpoints it has."""
    kind = OWNERS.get(_owner(models))
    if kind == "llamacpp":
        return "ik_llama" if "ik_llama" in models.headers.get("server", "") else "llamacpp"
    return kind or await _by_endpoints(client, url.removesuffix("/v1"))


def _owner(reply: httpx.Response) -> str:
    try:
        data: Any = reply.json()
        return str(data["data"][0]["owned_by"]).lower()
    except (ValueError, LookupError, TypeError):
        return ""


async def _by_endpoints(client: httpx.AsyncClient, root: str) -> EngineKind:
    for path, key, kind in _SIGNS:
        try:
            reply = await client.get(root + path, timeout=PROBE_SECONDS)
        except httpx.HTTPError:
            return "openai"
        if reply.status_code == 200 and key in reply.text:
            return kind
    return "openai"


_SIGNS: tuple[tuple[str, str, EngineKind], ...] = (
    ("/server_info", '"disable_radix_cache"', "sglang"),
    ("/props", '"default_generation_settings"', "llamacpp"),
    ("/metrics", "vllm:num_requests_running", "vllm"),
    ("/prometheus/metrics", "trtllm_", "trtllm"),
)
"""An endpoint, what its answer holds, and whose it is."""
