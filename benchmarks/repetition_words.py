"""Words that sound agent work is made of: half of each list for tuning, half for validation."""

from __future__ import annotations

import random

from benchmarks.repetition_loops import Part, Words


class Pool:
    """One part's words: half of each list."""

    def __init__(self, part: Part, rng: random.Random) -> None:
        half = slice(0, None, 2) if part == "tuning" else slice(1, None, 2)
        self.rng = rng
        self.nouns = _NOUNS[half]
        self.files = [
            f"{folder}/{noun}.{end}" for folder in _FOLDERS[half] for noun in self.nouns for end in _ENDS
        ]
        self.verbs = _VERBS[half]
        self.faults = _FAULTS[half]
        self.reasons = _REASONS[half]
        self.sentences = Words(part).sentences

    def __getattr__(self, name: str) -> str:
        """`pool.noun`, `pool.file`, …: one of them."""
        return str(self.rng.choice(self.__dict__[name + "s"]))

    def n(self, high: int = 400) -> int:
        return self.rng.randint(1, high)


_FOLDERS = ["src", "lib", "app", "core", "server", "client", "tests", "tools"]
_ENDS = ("py", "ts", "rs", "go")
_NOUNS = [
    "parser",
    "queue",
    "session",
    "token",
    "cache",
    "router",
    "worker",
    "config",
    "schema",
    "index",
    "reader",
    "writer",
    "handler",
    "client",
    "buffer",
    "logger",
    "lexer",
    "planner",
    "socket",
    "stream",
    "cursor",
    "ledger",
    "metric",
    "signal",
    "filter",
    "mapper",
    "bridge",
    "engine",
    "record",
    "bundle",
    "folder",
    "packet",
    "header",
    "footer",
    "window",
    "canvas",
    "widget",
    "button",
    "dialog",
    "layout",
    "theme",
    "locale",
    "plugin",
    "module",
]
_VERBS = [
    "Fixed",
    "Added",
    "Removed",
    "Renamed",
    "Moved",
    "Documented",
    "Simplified",
    "Typed",
    "Tested",
    "Cached",
    "Split",
    "Merged",
    "Guarded",
    "Validated",
    "Replaced",
    "Inlined",
    "Extracted",
    "Deprecated",
    "Restored",
    "Sorted",
]
_FAULTS = [
    "type error",
    "missing import",
    "unused variable",
    "race condition",
    "off-by-one error",
    "memory leak",
    "stale lock",
    "dead branch",
    "wrong default",
    "missing test",
    "broken link",
    "slow query",
    "duplicate key",
    "bad regex",
    "unhandled case",
    "wrong sign",
    "lost update",
    "double free",
    "flaky test",
    "wrong exit code",
]
_REASONS = [
    "so that a restart keeps its state",
    "because two threads wrote it at once",
    "as the reviewer asked",
    "which made CI red",
    "since Python 3.11 warns about it",
    "and the caller now gets a clear message",
    "which nobody had noticed",
    "as in the other readers",
    "because the file may be empty",
    "so the order is stable",
    "to keep the diff small",
    "after the last release",
    "before the cache is warm",
    "without touching the public API",
    "for Windows paths",
    "as a follow-up to the refactor",
]
