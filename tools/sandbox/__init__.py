"""Isolation for tool calls: an untrusted command sees a workspace of its own and nothing of this machine."""

from replayer.tools.sandbox.probe import Check, SandboxGrade, probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import FileError, Limits, Ran, SandboxLost, Snapshot
from replayer.tools.sandbox.workspace import Workspace

__all__ = [
    "Check",
    "FileError",
    "Limits",
    "Ran",
    "Sandbox",
    "SandboxGrade",
    "SandboxLost",
    "Snapshot",
    "Workspace",
    "probe",
]
