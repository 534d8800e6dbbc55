"""Sound texts of kinds that no rule was made on, from the machine this runs on: nothing of it is kept here.

Message catalogues in 150 languages (`.mo`, read as the texts they hold), C and CUDA headers, pages of other toolchains,
package lists, unit files, hardware tables, other Pythons' tests; and what commands print. A kind gives at most
`PER_KIND` texts, chosen by the hash of their paths. Other machines hold other files: figures name their number.
"""

from __future__ import annotations

import gettext
import gzip
import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

PER_KIND = 130
MESSAGES = 450
"""Catalogues, of which each is another program in another language."""
CAP = 120_000
TAGS = re.compile(r"<script.*?</script>|<style.*?</style>|<[^>]+>", re.DOTALL)
ROOTS: tuple[tuple[str, str, str], ...] = (
    ("prose: messages", "/usr/share/locale", "**/*.mo"),
    ("prose: pages", str(Path.home() / ".rustup"), "**/share/doc/**/*.html"),
    ("prose: rst", "/usr/lib/google-cloud-sdk", "**/*.rst"),
    ("prose: texinfo", "/usr/share/info", "*.gz"),
    ("code: C headers", "/usr/include", "**/*.h"),
    ("code: CUDA headers", "/usr/local", "cuda*/**/*.h"),
    ("code: old Python", str(Path.home() / ".pyenv" / "versions"), "2*/lib/python2*/**/*.py"),
    ("code: Python 3.6", str(Path.home() / ".pyenv" / "versions"), "3.6*/lib/python3*/test/**/*.py"),
    ("code: Perl", "/usr/share/perl", "**/*.p[lm]"),
    ("code: shell", "/var/lib/dpkg/info", "*.postinst"),
    ("code: CMake", "/usr/share", "cmake*/**/*.cmake"),
    ("code: PHP", "/usr/lib/google-cloud-sdk", "**/*.php"),
    ("code: JavaScript", "/usr/lib/node_modules", "**/*.js"),
    ("data: YAML", "/usr/lib/google-cloud-sdk", "**/*.yaml"),
    ("data: XML", "/usr/lib/google-cloud-sdk", "**/*.xml"),
    ("data: path lists", "/var/lib/dpkg/info", "*.list"),
    ("data: sums", "/var/lib/dpkg/info", "*.md5sums"),
    ("data: symbols", "/var/lib/dpkg/info", "*.symbols"),
    ("data: hardware", "/usr/lib/udev", "**/*.hwdb"),
    ("data: units", "/usr/lib/systemd", "**/*.service"),
    ("data: charts", "/usr/share/i18n", "**/*"),
    ("data: SQL", "/usr/share/postgresql", "**/*.sql"),
)
COMMANDS = (
    "ls -lR /usr/lib/python3 | head -3000",
    "git log --stat -60",
    "git log --oneline -400",
    "dpkg -l",
    "npm ls -g --all",
    "find /etc -type f",
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do uptime; free -m; done",
    "for i in 1 2 3 4 5 6 7 8; do df -h; done",
    "for i in 1 2 3 4 5 6; do git status; git diff --stat HEAD~$i; done",
    "for i in $(seq 40); do date; echo waiting for the server; done",
    "gcc --help=optimizers",
    "git help -a",
    "python3 -m pydoc json argparse socket",
    "locale -a",
    "apt-cache policy bash git python3 gcc perl",
    "cat /proc/cpuinfo /proc/meminfo",
    "cat /proc/self/maps",
    "env LANG=C ps aux",
    "getconf -a",
    "openssl list -all-algorithms",
)


@dataclass(frozen=True, slots=True)
class Found:
    kind: str
    name: str
    text: str


def machine() -> Iterator[Found]:
    """Every text, in a stable order for one machine."""
    for kind, root, pattern in ROOTS:
        paths = [path for path in Path(root).glob(pattern) if path.is_file() and not path.is_symlink()]
        paths.sort(key=lambda path: hashlib.sha256(str(path).encode()).digest())
        seen: set[str] = set()
        for path in paths:
            text = _text(path)
            if (
                len(text) >= 200
                and text not in seen
                and len(seen) < (MESSAGES if path.suffix == ".mo" else PER_KIND)
            ):
                seen.add(text)
                yield Found(kind, str(path), text)
    for command in COMMANDS:
        printed = subprocess.run(["bash", "-c", command], capture_output=True, check=False).stdout
        yield Found("log: commands", command, printed.decode("utf-8", "ignore")[:CAP])


def _text(path: Path) -> str:
    """What the file says: of a catalogue its translations, of a page what it shows."""
    try:
        if path.suffix == ".mo":
            return _messages(path)
        raw = path.read_bytes()[: 2 * CAP]
    except (OSError, UnicodeDecodeError, LookupError):
        return ""
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(path.read_bytes())[: 2 * CAP]
    if b"\0" in raw:
        return ""
    text = raw.decode("utf-8", "ignore")[:CAP]
    if path.suffix == ".html":
        text = "\n".join(line.strip() for line in unescape(TAGS.sub("", text)).splitlines() if line.strip())
    return text


def _messages(path: Path) -> str:
    with path.open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    said = (text for key, text in catalogue._catalog.items() if key)  # type: ignore[attr-defined]
    return "\n".join(dict.fromkeys(said))[:CAP]
