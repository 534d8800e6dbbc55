"""The sound files of the repetition benchmark: what a machine with Python holds, in two splits."""

from __future__ import annotations

import gzip
import hashlib
import re
import sysconfig
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Split = Literal["tuning", "validation"]


FILE_CAP = 262_144
PROSE_SUFFIXES = {".md", ".rst", ".txt", ".markdown", ".apache", ".bsd"}
PROSE_NAMES = re.compile(
    r"^(LICEN[CS]E|COPYING|README|NOTICE|CHANGE|NEWS|AUTHORS|HISTORY|THANKS|copyright|FAQ|TODO)", re.I
)
DATA_SUFFIXES = {
    ".json",
    ".csv",
    ".svg",
    ".xml",
    ".log",
    ".dectest",
    ".tsv",
    ".yaml",
    ".toml",
    ".html",
    ".po",
    ".expected",
}
BINARY_SUFFIXES = {".so", ".pyc", ".mo", ".png", ".jar", ".exe", ".whl", ".zip", ".gif", ".a", ".o", ".gguf"}


@dataclass(frozen=True, slots=True)
class Sound:
    """A file that must not raise an alarm."""

    name: str
    kind: Literal["prose", "code", "data"]
    text: str


def roots() -> list[Path]:
    """Folders that hold text on a machine with Python: its library, installed packages, shared documentation."""
    names = sysconfig.get_paths()
    found = [Path(names["stdlib"]), Path(names["purelib"]), Path("/usr/lib/python3"), Path("/usr/share")]
    return [root for root in dict.fromkeys(found) if root.is_dir()]


def sound(split: Split, extra: list[Path] | None = None) -> Iterator[Sound]:
    """Yield every distinct UTF-8 text file of 200 bytes or more of one split, or of all `extra` folders, in a stable order."""
    seen: set[bytes] = set()
    for root in extra or roots():
        for path in sorted(root.rglob("*")):
            if _foreign(path, root) or (not extra and _split_of(path.relative_to(root)) != split):
                continue
            text = _read(path)
            if text is None:
                continue
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
            if digest not in seen:
                seen.add(digest)
                yield Sound(str(path), kind_of(path), text)


def kind_of(path: Path) -> Literal["prose", "code", "data"]:
    name = path.name.removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    if suffix in PROSE_SUFFIXES or PROSE_NAMES.match(name):
        return "prose"
    return "data" if suffix in DATA_SUFFIXES else "code"


def _foreign(path: Path, root: Path) -> bool:
    below = path.relative_to(root).parts
    return (
        "__pycache__" in below
        or (below[:1] == ("site-packages",))
        or path.suffix.lower() in BINARY_SUFFIXES
        or path.is_symlink()
        or not path.is_file()
    )


def _split_of(relative: Path) -> Split:
    key = "/".join(relative.parts[:2])
    return "tuning" if hashlib.sha256(key.encode()).digest()[0] < 166 else "validation"


def _read(path: Path) -> str | None:
    try:
        raw = path.read_bytes()[: FILE_CAP * 2]
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                raw = stream.read(FILE_CAP)
        if len(raw) < 200 or b"\0" in raw:
            return None
        return raw[:FILE_CAP].decode("utf-8", "strict" if len(raw) <= FILE_CAP else "ignore")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error):
        return None
