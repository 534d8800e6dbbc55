"""Ray, where a run asks for it: the only module that imports it."""

from __future__ import annotations

import socket
from functools import cache
from importlib import import_module
from typing import Any

from replayer.errors import EngineUnavailable, MissingPartError

ANSWER = 10.0
"""Seconds after which a node that does not answer counts as lost."""


@cache
def ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise MissingPartError("--ray needs the extra `ray`: pip install 'agent-replayer[ray]'") from None


def connected(address: str) -> None:
    """`local`: a cluster of this machine alone, for this process. Raises EngineUnavailable."""
    where = {} if address == "local" else {"address": address}
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdigit():  # Ray itself asks a place where nobody answers for ever
            socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
        ray().init(**where, logging_level="ERROR", log_to_driver=False)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise EngineUnavailable(f"no Ray cluster at {address}: {str(error).splitlines()[0]}") from None


async def value(reference: Any) -> Any:
    return await reference
