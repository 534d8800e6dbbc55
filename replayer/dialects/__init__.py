"""How a client writes a trace's items as the messages of an OpenAI chat request. Chosen per run, not stored."""

from __future__ import annotations

from replayer.dialects.base import Dialect, DialectName
from replayer.dialects.openai import OpenAIVerbatim
from replayer.errors import PlanError
from replayer.suggest import nearest

DIALECTS: dict[str, type[Dialect]] = {"openai-verbatim": OpenAIVerbatim}


def dialect(name: str) -> Dialect:
    """Raises PlanError that names the nearest dialect."""
    if name not in DIALECTS:
        raise PlanError(f"unknown dialect {name!r}{nearest(name, DIALECTS)}")
    return DIALECTS[name]()


__all__ = ["DIALECTS", "Dialect", "DialectName", "dialect"]
