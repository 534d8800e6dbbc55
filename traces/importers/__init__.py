"""Importers of foreign recordings. The order decides where an input could be two things: the narrower test first."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name

from replayer.traces.importers.base import Importer

IMPORTERS = """
    native:Native
    embedded:Embedded
    opencode:OpenCodeStore
    zed_store:ZedStore
    zed_thread:ZedThread
    zed_legacy:ZedLegacyThread
    qwen:QwenCode
    claude_code:ClaudeCode
    claude_stream:ClaudeStream
    sts:Sts
    pi:Pi
    codex:Codex
    copilot:Copilot
    gemini:Gemini
    swe_agent:SweAgent
    swe_agent:MiniSweAgent
    openhands_v0:OpenHandsV0
    openhands_v1:OpenHandsV1
    atif:Atif
    opencode:OpenCodeExport
    otel:OTel
    token_traces:KvCacheTester
    tracelab:TraceLab
    token_traces:Bailian
    token_traces:Mooncake
    har:Har
    transcripts:ShareGpt
    chat_log:ChatLog
    transcripts:Messages
    zed_markdown:ZedMarkdown
"""


def importers() -> Iterator[Importer]:
    """Each is imported when its turn comes: what is found early loads no other."""
    for place in IMPORTERS.split():
        importer: Importer = resolve_name(f"{__name__}.{place}")()
        yield importer
