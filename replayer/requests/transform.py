"""The user's own context manager: rewrites the messages of each request before it is sent (`--transform`)."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable

from replayer.errors import PlanError
from replayer.wire.types import JsonObject

Messages = list[JsonObject]
Transform = Callable[[Messages], Messages]
_SECONDS = 60.0


def load_transform(text: str) -> Transform:
    """`MODULE:FUNCTION` of Python found from here, or a command that reads and writes the messages as JSON.

    Raises PlanError when there is no such thing.
    """
    module, colon, function = text.partition(":")
    if colon and all(part.isidentifier() for part in [*module.split("."), function]):
        return _python(text, module, function)
    return _command(text)


def _python(text: str, module: str, function: str) -> Transform:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise PlanError(f"--transform {text}: {error}") from None
    return _checked(text, found)


def _command(text: str) -> Transform:
    arguments = shlex.split(text)

    def run(messages: Messages) -> object:
        try:
            done = subprocess.run(
                arguments, input=json.dumps(messages), capture_output=True, text=True, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PlanError(f"--transform {text}: {error}") from None
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] or ["nothing"]
            raise PlanError(f"--transform {text} ended with code {done.returncode}; it said: {said[0]}")
        try:
            return json.loads(done.stdout)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"--transform {text} wrote no JSON: {error}") from None

    return _checked(text, run)


def _checked(text: str, function: Callable[[Messages], object]) -> Transform:
    """Lanes call it from threads: one at a time, for the user's code need not expect that."""
    lock = threading.Lock()

    def transform(messages: Messages) -> Messages:
        with lock:
            changed = function(messages)
        if not isinstance(changed, list) or not all(isinstance(m, dict) and "role" in m for m in changed):
            raise PlanError(f"--transform {text} must give a list of messages, each an object with a role")
        return changed

    return transform
