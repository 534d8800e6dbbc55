"""Importers of foreign recordings. The order decides where an input could be two things: the narrower test first."""

from __future__ import annotations

from replayer.traces.importers.atif import Atif
from replayer.traces.importers.base import Importer
from replayer.traces.importers.chat_log import ChatLog
from replayer.traces.importers.claude_code import ClaudeCode
from replayer.traces.importers.claude_stream import ClaudeStream
from replayer.traces.importers.codex import Codex
from replayer.traces.importers.copilot import Copilot
from replayer.traces.importers.embedded import Embedded
from replayer.traces.importers.gemini import Gemini
from replayer.traces.importers.har import Har
from replayer.traces.importers.native import Native
from replayer.traces.importers.opencode import OpenCodeExport, OpenCodeStore
from replayer.traces.importers.openhands_v0 import OpenHandsV0
from replayer.traces.importers.openhands_v1 import OpenHandsV1
from replayer.traces.importers.otel import OTel
from replayer.traces.importers.pi import Pi
from replayer.traces.importers.qwen import QwenCode
from replayer.traces.importers.sts import Sts
from replayer.traces.importers.swe_agent import MiniSweAgent, SweAgent
from replayer.traces.importers.token_traces import Bailian, KvCacheTester, Mooncake
from replayer.traces.importers.tracelab import TraceLab
from replayer.traces.importers.transcripts import Messages, ShareGpt
from replayer.traces.importers.zed_legacy import ZedLegacyThread
from replayer.traces.importers.zed_markdown import ZedMarkdown
from replayer.traces.importers.zed_store import ZedStore
from replayer.traces.importers.zed_thread import ZedThread

IMPORTERS: tuple[Importer, ...] = (
    Native(),
    Embedded(),
    OpenCodeStore(),
    ZedStore(),
    ZedThread(),
    ZedLegacyThread(),
    QwenCode(),
    ClaudeCode(),
    ClaudeStream(),
    Sts(),
    Pi(),
    Codex(),
    Copilot(),
    Gemini(),
    SweAgent(),
    MiniSweAgent(),
    OpenHandsV0(),
    OpenHandsV1(),
    Atif(),
    OpenCodeExport(),
    OTel(),
    KvCacheTester(),
    TraceLab(),
    Bailian(),
    Mooncake(),
    Har(),
    ShareGpt(),
    ChatLog(),
    Messages(),
    ZedMarkdown(),
)
