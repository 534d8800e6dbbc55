"""The worker's code as one zip archive: sent into the sandbox through a memory file, never through a path."""

from __future__ import annotations

import functools
import importlib.util
import io
import marshal
import zipfile
from pathlib import Path

PACKAGE = "replayer/tools/sandbox/guest"
BOOT = (
    "import sys; sys.path.insert(0, {path!r});"
    "from replayer.tools.sandbox.guest.worker import main; sys.path.pop(0); main()"
)


@functools.cache
def archive() -> bytes:
    """Source, and byte code that spares the compiling where the guest's Python has the host's magic number."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        parts = PACKAGE.split("/")
        for depth in range(1, len(parts)):
            add(target, "/".join([*parts[:depth], "__init__.py"]), "")
        for path in sorted((Path(__file__).parent / "guest").glob("*.py")):
            add(target, f"{PACKAGE}/{path.name}", path.read_text())
    return buffer.getvalue()


def add(target: zipfile.ZipFile, name: str, source: str) -> None:
    target.writestr(zipfile.ZipInfo(name), source)
    code = marshal.dumps(compile(source, f"<sandbox>/{Path(name).name}", "exec"))
    unchecked_hash = (1).to_bytes(4, "little") + bytes(8)
    target.writestr(zipfile.ZipInfo(f"{name}c"), importlib.util.MAGIC_NUMBER + unchecked_hash + code)
