"""Hook of mkdocs: writes the reference of commands from their own parsers, at each build, so that it cannot be old."""

from __future__ import annotations

import argparse
import inspect
import os
from typing import Any

from replayer.cli import COMMANDS, load


def reference() -> str:
    """The page in Markdown: per command its purpose, long help and flags."""
    parts = ["# Commands\n\nMade from the commands' own help.\n"]
    for name, purpose in COMMANDS.items():
        command = load(name)
        parser = argparse.ArgumentParser(
            prog=f"replayer {name}",
            description=inspect.getdoc(type(command)),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(parser)
        parts.append(
            f"## {name}\n\n{purpose[0].upper()}{purpose[1:]}.\n\n````text\n{parser.format_help()}````\n"
        )
    return "\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    os.environ["COLUMNS"] = "100"
    files.append(File.generated(config, "commands.md", content=reference()))
    return files
