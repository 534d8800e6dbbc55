"""Many files on the cores of a Ray cluster whose nodes share the files' folder."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from replayer.errors import PlanError, ReplayerError
from replayer.run.shards.ray_itself import connected, ray

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
