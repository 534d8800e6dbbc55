"""What keeps a session's prompts out of what earlier sessions left in an engine's prefix cache."""

from __future__ import annotations

from dataclasses import field

from replayer.engines.base import Engine
from replayer.journal.events import IsolationKind
from replayer.lazy import dataclass
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Isolation:
    """`fields` go into every request of the session. `marker` goes behind the first user message, or, as `block`, decides
    the first block of a prompt of filler, which costs no token."""

    kind: IsolationKind | None = None
    fields: JsonObject = field(default_factory=dict)
    marker: str | None = None


def isolate(engine: Engine, tag: str, *, fresh: bool, filler: bool, salts: bool = True) -> Isolation:
    """The engine's own salt, else a marker; that is the same on every lane, so that lanes still see the same prompts.

    A `fresh` cache needs neither. Prompts of filler always have a block of their own: they are fitted to the token
    before it is known whether the cache is fresh. `salts`: the wire has a field for them.
    """
    salted = salts and bool(engine.isolation(tag)) and not fresh
    if filler:
        return again(engine, tag, "salt+block" if salted else "block")
    return Isolation() if fresh else again(engine, tag, "salt" if salted else "marker")


def again(engine: Engine, tag: str, kind: IsolationKind) -> Isolation:
    """The isolation of a kind, as a journal names it."""
    salt = engine.isolation(tag) if kind.startswith("salt") else {}
    return Isolation(kind, fields=salt, marker=None if kind == "salt" else marker(tag))


def marker(tag: str) -> str:
    return f"\n\n[session {tag}]"
