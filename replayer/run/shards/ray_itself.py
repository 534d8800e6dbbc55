"""Ray, where a run asks for it: the only module that imports it.

`on_ray` gives many files to the cores of a cluster whose nodes share the files' folder.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from replayer.errors import EngineUnavailable, MissingPartError, PlanError, ReplayerError

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
    except (
        OSError,
        OverflowError,
        RuntimeError,
        ValueError,
    ) as error:  # also where Ray's own programs cannot be started
        raise EngineUnavailable(
            f"no Ray cluster at {address}: {str(error).splitlines()[0]}; one that asks for a token needs RAY_AUTH_MODE=token"
        ) from None


async def value(reference: Any) -> Any:
    return await reference


T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 4
"""Files given out for each core: results wait in the memory of nodes until they are fetched."""


def on_ray(address: str, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """`work` on each item; results in order. Stays connected until this process ends. Raises EngineUnavailable,
    MissingPartError, and what `work` raises."""
    if not ray().is_initialized():
        connected(str(address))
    most = _AHEAD * max(1, int(ray().cluster_resources().get("CPU", 1)))
    task = ray().remote(_at).options(num_cpus=1, max_retries=2)
    given, waiting = iter(items), deque[Any]()
    for item in given:
        waiting.append(task.remote(os.getcwd(), work, item))
        if len(waiting) >= most:
            yield _result(waiting.popleft())
    while waiting:
        yield _result(waiting.popleft())


def _at(folder: str, work: Callable[[T], R], item: T) -> R:
    try:
        os.chdir(folder)
    except OSError as error:
        raise PlanError(
            f"{folder}: a node of the cluster does not have this folder ({error.strerror})"
        ) from None
    return work(item)


def _result(reference: Any) -> Any:
    try:
        return ray().get(reference)
    except ray().exceptions.RayTaskError as error:
        raise error.cause from None
    except ray().exceptions.RayError as error:
        raise ReplayerError(f"the Ray cluster lost a file's work: {str(error).splitlines()[0]}") from None
