"""The same work on many files, by as many processes or machines as the user asks for: results come in order, whoever made them."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from replayer.commands.flags import flag

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

T = TypeVar("T")
R = TypeVar("R")


class Cluster(str):
    """The address of a Ray cluster, or `local`."""


def add_processes_flag(parser: argparse.ArgumentParser) -> None:
    many = parser.add_mutually_exclusive_group()
    flag(
        many,
        "--processes N",
        "work on so many files at a time; auto: one for each core (default: 1)",
        type=_count,
        default=1,
    )
    flag(
        many,
        "--ray ADDRESS",
        "work on the cores of a Ray cluster (local: of this machine); its nodes share the files' folder",
        dest="processes",
        type=Cluster,
        default=argparse.SUPPRESS,
    )


def mapped(work: Callable[[T], R], items: Sequence[T], processes: int | Cluster) -> Iterator[R]:
    """`work` on each item. Other processes begin at once, and it must be a function of a module then, or a `partial` of one."""
    if isinstance(processes, Cluster):
        from replayer.run.shards.ray_itself import on_ray

        return on_ray(processes, work, items)
    n = min(processes, len(items))
    if n <= 1:
        return map(work, items)
    how = "fork" if sys.platform == "linux" else "spawn"  # no thread runs yet, and nothing is loaded twice
    gc.freeze()  # children that look at no object of ours copy no page of it
    pool = multiprocessing.get_context(how).Pool(n)
    return _results(pool, pool.imap(work, items))


def _results(pool: Pool, found: Iterator[R]) -> Iterator[R]:
    with pool:
        yield from found


def _count(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError("it must be auto, or a number from 1 on")
    return int(text)
