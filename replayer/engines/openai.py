"""Any OpenAI-compatible server: what all adapters share, and all that is assumed of an unknown one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import httpx
import orjson

from replayer.engines.base import EngineFacts, EngineKind, TelemetrySample, Tristate
from replayer.engines.capabilities import CAPABILITIES
from replayer.engines.faults import Rule, engine_fault
from replayer.engines.prometheus import Page, parse
from replayer.engines.sampling import sampling_fields
from replayer.traces.schema import Usage
from replayer.wire.counts import cached_tokens, count
from replayer.wire.types import WireFault

PROBE_SECONDS = 10.0
METRICS_SECONDS = 5.0
_NO_SUCH_PAGE = (404, 405, 501)


class OpenAIEngine:
    """Adapter of a server of which nothing but the API is known. Others derive from it.

    Reading metrics raises httpx errors and ValueError; a page that is switched off is None.
    """

    kind: EngineKind = "openai"
    rules: ClassVar[Sequence[Rule]] = ()
    context_flag: ClassVar[str | None] = None
    metrics_path: ClassVar[str | None] = None
    metric_names: ClassVar[frozenset[str] | None] = None
    """The samples that the adapter reads from a page; None for all."""

    def __init__(self, base_url: str, http: httpx.AsyncClient) -> None:
        self.base_url = base_url
        self.root = base_url.removesuffix("/v1")
        self.http = http
        self.sampling_fields = sampling_fields(self.kind)
        self.capabilities = CAPABILITIES[self.kind]
        self.model: str | None = None
        """The served model whose figures are wanted where a metrics page holds several."""
        self.reports_cached: bool | None = None
        """The server tells cached tokens: known from its settings, or because it has."""

    # What it is

    async def facts(self) -> EngineFacts:
        models = await self.models()
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            model=models[0]["id"] if models else None,
            models=tuple(model["id"] for model in models),
            context_length=_length(models[0]) if models else None,
        )

    async def models(self) -> list[dict[str, Any]]:
        listed = await self.get_json(f"{self.base_url}/models")
        data = listed.get("data") if isinstance(listed, dict) else None
        entries = data if isinstance(data, list) else []
        return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    async def get_json(self, url: str) -> Any:
        """The JSON that a GET answers; None where there is none."""
        try:
            reply = await self.http.get(url, timeout=PROBE_SECONDS)
            return reply.json() if reply.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    async def post_json(self, path: str, body: Any) -> Any:
        try:
            # orjson: a long prompt's body and its token ids would hold up the timed streams for many milliseconds.
            data, kind = orjson.dumps(body), {"content-type": "application/json"}
            url = self.root + path
            reply = await self.http.post(url, content=data, headers=kind, timeout=PROBE_SECONDS * 6)
            return orjson.loads(reply.content) if reply.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            return None

    async def offers(self, path: str) -> Tristate:
        """Whether a FastAPI server lists an endpoint, asked without calling it."""
        document = await self.get_json(f"{self.root}/openapi.json")
        paths = document.get("paths") if isinstance(document, dict) else None
        if not isinstance(paths, dict):
            return "unknown"
        return "yes" if path in paths else "no"

    # What it answers

    def usage(self, usage: dict[str, Any] | None, extra: dict[str, Any]) -> Usage | None:
        if not isinstance(usage, dict):
            return None
        completion = _dict(usage, "completion_tokens_details")
        cached = cached_tokens(usage)
        if cached is not None:
            self.reports_cached = True
        elif self.reports_cached:
            cached = self.unreported_cached()
        reasoning = count(usage.get("reasoning_tokens"))
        return Usage(
            prompt_tokens=count(usage.get("prompt_tokens")),
            cached_tokens=cached,
            completion_tokens=count(usage.get("completion_tokens")),
            reasoning_tokens=reasoning
            if reasoning is not None
            else count(completion.get("reasoning_tokens")),
            raw=usage,
        )

    def unreported_cached(self) -> int | None:
        """What a missing figure means on a server that does report: unknown, unless the kind is known."""
        return None

    def fault(self, status: int, body: str) -> WireFault:
        return engine_fault(status, body, self.rules, self.context_flag)

    def request_fields(self) -> dict[str, Any]:
        return {}

    def isolation(self, salt: str) -> dict[str, Any]:
        return {}

    # What it does

    async def telemetry(self) -> TelemetrySample | None:
        page = await self.page()
        return None if page is None else self.sample(page, time.monotonic())

    async def page(self) -> Page | None:
        if self.metrics_path is None:
            return None
        reply = await self.http.get(self.root + self.metrics_path, timeout=METRICS_SECONDS)
        if reply.status_code in _NO_SUCH_PAGE:
            return None
        if reply.status_code != 200:
            raise ValueError(f"the metrics page answers with status {reply.status_code}")
        return parse(reply.text, self.metric_names).of_model(self.model)

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        """One metrics page in common words."""
        return None

    async def reset_cache(self) -> Tristate:
        return "unknown"

    async def _reset_by(self, path: str) -> Tristate:
        """POST to an endpoint that empties the cache."""
        try:
            reply = await self.http.post(self.root + path, timeout=PROBE_SECONDS * 3)
        except httpx.HTTPError:
            return "unknown"
        return "yes" if reply.status_code == 200 else "no"

    async def tokenize(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> list[int] | None:
        return None

    async def _tokenize_chat(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> list[int] | None:
        """For servers whose `/tokenize` renders a chat."""
        return await self._tokenize_by(
            "/tokenize", {"messages": messages} | ({"tools": tools} if tools else {})
        )

    async def _tokenize_by(self, path: str, body: dict[str, Any]) -> list[int] | None:
        answer = await self.post_json(path, body)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        return tokens if isinstance(tokens, list) and all(isinstance(t, int) for t in tokens) else None

    async def aclose(self) -> None:
        await self.http.aclose()


def _dict(source: dict[str, Any], key: str) -> dict[str, Any]:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def _length(model: dict[str, Any]) -> int | None:
    meta = _dict(model, "meta")
    for value in (model.get("max_model_len"), meta.get("n_ctx"), model.get("context_length")):
        if isinstance(value, int):
            return value
    return None
