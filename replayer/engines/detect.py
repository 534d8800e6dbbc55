"""Finds out what a server is by what it answers, and gives the adapter of its kind."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from replayer.engines.base import Engine, EngineFacts
from replayer.engines.http_client import http_client
from replayer.engines.json_values import parsed, section, text
from replayer.engines.kind import EngineKind
from replayer.engines.openai.adapter import PROBE_SECONDS
from replayer.engines.registry import KINDS, kind_named
from replayer.errors import EngineUnavailable, PlanError
from replayer.text import safe
from replayer.wire.credentials import without_login, without_secrets
from replayer.wire.dial import read_url, why
from replayer.wire.reply import redirected


def base_url_of(url: str) -> str:
    """The URL that ends where `/chat/completions` follows; a bare host gets `/v1`. Raises PlanError."""
    parts = urlsplit(url)
    shown = without_secrets(url).partition("?")[0]
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise PlanError(f"{shown!r} is not the URL of a server, for example http://127.0.0.1:8000/v1")
    if parts.query or parts.fragment:
        raise PlanError(
            f"the URL {shown!r} must end with its path, without ? or #; give a key with api_key_env=VARIABLE"
        )
    trimmed = url.rstrip("/").removesuffix("/chat/completions")
    return trimmed if urlsplit(trimmed).path.strip("/") else trimmed + "/v1"


async def connect(
    base_url: str,
    *,
    kind: str | None = None,
    api_key: str | None = None,
    http: httpx.AsyncClient | None = None,
    headers: Mapping[str, str] | None = None,
    within: float = PROBE_SECONDS,
) -> Engine:
    """The adapter of the server at a URL, asked with `headers`. It owns `http` from now on and closes it. `within`: seconds
    for its first answer, at most those of a probe.

    Raises EngineUnavailable when nothing answers or the key is refused, PlanError for an unknown kind.
    """
    named = kind_named(kind) if kind is not None else None
    dialled = base_url_of(base_url)
    url = without_login(dialled)
    client = _client(dialled, http or http_client(url), api_key, headers)
    try:
        found = await _first_answer(client, url, min(within, PROBE_SECONDS), has_key=api_key is not None)
        chosen = named or await _detect(client, url, found)
        engine = chosen.open(url, client)
        engine.dial_url = dialled
        return engine
    except BaseException:
        await client.aclose()
        raise


async def facts_of(engine: Engine) -> EngineFacts:
    """What the server says of itself. Raises EngineUnavailable where that makes no sense: one such lane ends no run."""
    try:
        return await engine.facts()
    except (httpx.HTTPError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        said = f"{type(error).__name__}: {safe(str(error)[:200])}"
        raise EngineUnavailable(
            f"{engine.base_url} says of itself what no {engine.kind} server says ({said})"
        ) from error


def unasked(base_url: str, kind: str, *, api_key: str | None, headers: Mapping[str, str]) -> Engine:
    """The adapter of a server of which another process found out all there is to know."""
    dialled = base_url_of(base_url)
    url = without_login(dialled)
    engine = kind_named(kind).open(url, _client(dialled, http_client(url), api_key, headers))
    engine.dial_url = dialled
    return engine


def _client(
    dialled: str, client: httpx.AsyncClient, api_key: str | None, headers: Mapping[str, str] | None
) -> httpx.AsyncClient:
    origin, _ = read_url(dialled)
    client.headers.update(headers or {})
    if api_key is not None or origin.credentials:
        client.headers["Authorization"] = f"Bearer {api_key}" if api_key else str(origin.credentials)
    return client


async def _first_answer(
    client: httpx.AsyncClient, url: str, seconds: float, *, has_key: bool
) -> httpx.Response:
    try:
        reply = await client.get(f"{url}/models", timeout=seconds)
    except httpx.TimeoutException:
        raise EngineUnavailable(
            f"{url} did not answer within {seconds:g} s; is the server up, or still loading its model?"
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnavailable(_unreached(url, error)) from None
    if reply.is_redirect:
        raise EngineUnavailable(f"{url}: {redirected(reply.status_code, reply.headers.get('location', ''))}")
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


def _unreached(url: str, error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLError):
        return f"{url} cannot be reached: {safe(why(cause))}"
    reason = safe(str(error)) or "the connection was closed"
    return f"{url} cannot be reached ({reason}); is the server running there?"


async def _detect(client: httpx.AsyncClient, url: str, models: httpx.Response) -> EngineKind:
    """By the owner of its models; behind a gateway that rewrites those, by the endpoints it has."""
    owner, server = _owner(models), models.headers.get("server", "")
    for kind in KINDS.values():
        if kind.owner == owner and kind.server in server:
            return kind
    return await _by_endpoints(client, url.removesuffix("/v1"))


def _owner(reply: httpx.Response) -> str:
    try:
        return (text(section(section(parsed(reply))["data"][0]), "owned_by") or "").lower()
    except (ValueError, LookupError, TypeError):
        return ""


async def _by_endpoints(client: httpx.AsyncClient, root: str) -> EngineKind:
    unknown = KINDS["openai"]
    for kind in KINDS.values():
        if kind.sign is None:
            continue
        path, words = kind.sign
        try:
            reply = await client.get(root + path, timeout=PROBE_SECONDS)
        except httpx.HTTPError:
            return unknown
        if reply.status_code == 200 and words in reply.text:
            return kind
    return unknown
