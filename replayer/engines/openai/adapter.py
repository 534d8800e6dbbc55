"""Any OpenAI-compatible server: what all adapters share, and all that is assumed of an unknown one."""

from __future__ import annotations

import time
from typing import ClassVar

import httpx
import orjson

from replayer.engines.base import EngineFacts, Sampling, TelemetrySample, Tristate
from replayer.engines.error_words import engine_fault
from replayer.engines.http_client import METRICS_BYTES, PAGE_BYTES, at_most
from replayer.engines.json_values import parsed, section, text
from replayer.engines.kind import EngineKind
from replayer.engines.openai import OPENAI
from replayer.engines.prometheus import Page, parse
from replayer.traces.schema import Usage
from replayer.wire.counts import cached_tokens, count
from replayer.wire.types import JsonObject, WireFault

PROBE_SECONDS = 10.0
METRICS_SECONDS = 5.0
_NO_SUCH_PAGE = (404, 405, 501)


class OpenAIEngine:
    """Adapter of a server of which nothing but the API is known. Others derive from it.

    Reading metrics raises httpx errors and ValueError; a page that is switched off is None.
    """

    entry: ClassVar[EngineKind] = OPENAI
    metrics_path: ClassVar[str | None] = None
    metric_names: ClassVar[frozenset[str] | None] = None
    """The samples that the adapter reads from a page; None for all."""
    reset_path: ClassVar[str | None] = None
    """POST there empties the prefix cache."""
    tokenize_path: ClassVar[str | None] = None
    """Gives the token ids of a rendered chat."""
    salt_field: ClassVar[str | None] = None
    silent_cached: ClassVar[int | None] = None
    """What a missing count of cached tokens means on a server that does report: unknown, unless the kind is known."""

    def __init__(self, base_url: str, http: httpx.AsyncClient) -> None:
        self.base_url = self.dial_url = base_url
        self.root = base_url.removesuffix("/v1")
        self.http = http
        self.kind = self.entry.name
        self.sampling_fields: Sampling | None = self.entry.sampling
        self.listed: list[JsonObject] = []
        """The models as the server last listed them."""
        self.model: str | None = None
        """The served model whose figures are wanted where a metrics page holds several."""
        self.reports_cached: bool | None = None
        """The server reports cached tokens: known from its settings, or because it has."""

    # What it is

    async def facts(self) -> EngineFacts:
        """What every server of this API says; an adapter adds what its own kind says."""
        self.listed = await self._models()
        first = self.listed[0] if self.listed else {}
        lengths = (
            first.get("max_model_len"),
            section(first, "meta").get("n_ctx"),
            first.get("context_length"),
        )
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            model=text(first, "id"),
            models=tuple(model["id"] for model in self.listed),
            context_length=next((length for length in map(count, lengths) if length), None),
            promises_done=self.entry.promises,
            promises_usage=self.entry.promises,
        )

    async def _models(self) -> list[JsonObject]:
        data = section(await self.get_json(f"{self.base_url}/models")).get("data")
        entries = data if isinstance(data, list) else []
        return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    async def _version(self) -> str | None:
        return text(section(await self.get_json(f"{self.root}/version")), "version")

    async def get_json(self, url: str) -> object:
        """The JSON that a GET answers; None where there is none."""
        try:
            reply = await self.http.get(url, timeout=PROBE_SECONDS)
            return parsed(reply) if reply.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    async def post_json(self, path: str, body: object) -> object:
        try:
            # orjson: a long prompt's body and its token ids would hold up the timed streams for many milliseconds.
            data, kind = orjson.dumps(body), {"content-type": "application/json"}
            url = self.root + path
            timeout, most = PROBE_SECONDS * 2, at_most(PAGE_BYTES)
            reply = await self.http.post(url, content=data, headers=kind, timeout=timeout, extensions=most)
            return parsed(reply) if reply.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    async def offered(self, *paths: str) -> dict[str, Tristate]:
        """Whether a FastAPI server lists each endpoint, asked without calling it."""
        listed = section(await self.get_json(f"{self.root}/openapi.json"), "paths")
        return {path: ("yes" if path in listed else "no") if listed else "unknown" for path in paths}

    # What it answers

    @property
    def silence_is_unclear(self) -> bool:
        """A reply without cached tokens may have had none, or an engine that reports none."""
        return self.silent_cached == 0 and self.reports_cached is None

    def usage(self, usage: JsonObject | None, extra: JsonObject) -> Usage | None:
        if not isinstance(usage, dict):
            return None
        cached = cached_tokens(usage)
        own = extra.get("usage")  # of Messages or Responses, where a count that is left out is unknown
        if cached is not None:
            self.reports_cached = True
        elif self.reports_cached and own is None:
            cached = self.silent_cached
        reasoning = count(usage.get("reasoning_tokens"))
        if reasoning is None:
            reasoning = count(section(usage, "completion_tokens_details").get("reasoning_tokens"))
        return Usage(
            prompt_tokens=count(usage.get("prompt_tokens")),
            cached_tokens=cached,
            completion_tokens=count(usage.get("completion_tokens")),
            reasoning_tokens=reasoning,
            cache_write_tokens=count(section(usage, "prompt_tokens_details").get("cache_write_tokens")),
            raw=usage if own is None else own,
        )

    def fault(self, status: int, body: str) -> WireFault:
        return engine_fault(status, body, self.entry.error_rules, self.entry.context_flag)

    def request_fields(self) -> JsonObject:
        return {}

    def isolation(self, salt: str) -> JsonObject:
        return {self.salt_field: salt} if self.salt_field else {}

    # What it does

    async def telemetry(self) -> TelemetrySample | None:
        page = await self.page()
        return None if page is None else self.sample(page, time.monotonic())

    async def page(self) -> Page | None:
        if self.metrics_path is None:
            return None
        url, most = self.root + self.metrics_path, at_most(METRICS_BYTES)
        reply = await self.http.get(url, timeout=METRICS_SECONDS, extensions=most)
        if reply.status_code in _NO_SUCH_PAGE:
            return None
        if reply.status_code != 200:
            raise ValueError(f"the metrics page answers with status {reply.status_code}")
        return parse(reply.text, self.metric_names).of_model(self.model)

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        """One metrics page in common words."""
        return None

    async def reset_cache(self) -> Tristate:
        return await self._reset_by(self.reset_path) if self.reset_path else "unknown"

    async def _reset_by(self, path: str) -> Tristate:
        """POST to an endpoint that empties the cache."""
        try:
            reply = await self.http.post(self.root + path, timeout=PROBE_SECONDS * 3)
        except httpx.HTTPError:
            return "unknown"
        if reply.status_code != 200:
            return "no"
        try:
            said = parsed(reply)
        except ValueError:  # 0.21 and SGLang answer with nothing, or with a sentence
            return "yes"
        return "no" if section(said).get("success") is False else "yes"

    async def tokenize(self, messages: list[JsonObject], tools: list[JsonObject] | None) -> list[int] | None:
        if self.tokenize_path is None:
            return None
        asked: JsonObject = {"messages": messages} | ({"tools": tools} if tools else {})
        return await self._tokenize_by(self.tokenize_path, asked)

    async def _tokenize_by(self, path: str, body: JsonObject) -> list[int] | None:
        tokens = section(await self.post_json(path, body)).get("tokens")
        return tokens if isinstance(tokens, list) and all(isinstance(t, int) for t in tokens) else None

    async def aclose(self) -> None:
        await self.http.aclose()
