"""Importers of foreign recordings. The order decides where an input could be two things: the narrower test first."""

from __future__ import annotations

from replayer.traces.importers.base import Importer
from replayer.traces.importers.claude_code import ClaudeCode
from replayer.traces.importers.native import Native
from replayer.traces.importers.zed_legacy import ZedLegacyThread
from replayer.traces.importers.zed_markdown import ZedMarkdown
from replayer.traces.importers.zed_store import ZedStore
from replayer.traces.importers.zed_thread import ZedThread

IMPORTERS: tuple[Importer, ...] = (
    Native(),
    ZedStore(),
    ZedThread(),
    ZedLegacyThread(),
    ClaudeCode(),
    ZedMarkdown(),
)
