"""What replayer knows of one kind of engine: the entry that its folder brings to the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from replayer.engines.base import Engine, Sampling, Tristate
from replayer.lazy import dataclass

if TYPE_CHECKING:
    import httpx

    from replayer.engines.error_words import Rule
    from replayer.engines.logs.patterns import LogPatterns


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """One kind of engine. A folder `replayer/engines/NAME/` holds it all, and one line of the registry names it."""

    name: str
    adapter: str
    """`module:class`, imported when an engine is met: an HTTP client costs the start of other commands too much."""
    owner: str | None = None
    """`owned_by` of the models that it lists."""
    server: str = ""
    """Part of its `Server` header that distinguishes it from another kind with the same owner."""
    sign: tuple[str, str] | None = None
    """An endpoint and what its answer holds: known by it behind a gateway that rewrites the models' owner."""
    sampling: Sampling | None = None
    """None where the kind does not say which fields it knows."""
    features: Mapping[str, Tristate] = field(default_factory=dict)
    """What the kind can do although its API does not say so, as the captures show."""
    advice: Mapping[str, str] = field(default_factory=dict)
    """Feature -> what to do where it is `no`."""
    context_flag: str | None = None
    """The option that lengthens the context."""
    error_rules: tuple[Rule, ...] = ()
    promises: bool | None = True
    """It always ends a stream with usage, if asked to, and `[DONE]`."""
    backoff_methods: tuple[str, ...] = ()
    """Words in the name of a speculative method under which prefix reuse stops one block short."""
    log: LogPatterns | None = None

    def open(self, base_url: str, http: httpx.AsyncClient) -> Engine:
        """The adapter of a server of this kind; it owns `http` from now on."""
        adapter: Callable[[str, httpx.AsyncClient], Engine] = resolve_name(self.adapter)
        return adapter(base_url, http)
