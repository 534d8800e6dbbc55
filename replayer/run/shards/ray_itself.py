"""Ray, where a run asks for it: the only module that imports it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from replayer.errors import MissingPartError

ANSWER = 10.0
"""Seconds after which a node that does not answer counts as lost."""


@cache
def ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise MissingPartError("--ray needs the extra `ray`: pip install 'agent-replayer[ray]'") from None


async def value(reference: Any) -> Any:
    return await reference
