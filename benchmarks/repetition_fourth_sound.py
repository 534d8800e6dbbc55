"""Sound texts beside the fourth set: agent work of further kinds, drawn, and files of kinds that no rule was made on.

    python benchmarks/repetition_fourth_sound.py FOLDER      # fetches the files, some 45 MB

Each line of a drawn text says something new or shows a state that moves. Files: protocol buffers, Solidity, SVG icons,
tables, feature files, lists of names in 80 languages, compiled type definitions, and of this machine Maven projects, sound
card profiles, Tcl, patches and Perl's documentation.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.repetition_fourth import _SAID as SAID
from benchmarks.repetition_machine import CAP, Found

PER_KIND, PER_PACKAGE = 60, 170
PACKAGES = (
    ("npm", "google-proto-files@5.0.3", "proto"),
    ("npm", "@openzeppelin/contracts@5.7.0", "sol"),
    ("npm", "vega-datasets@3.2.1", "csv json"),
    ("npm", "bootstrap-icons@1.13.2", "svg css"),
    ("npm", "@octokit/graphql-schema@15.26.1", "graphql ts"),
    ("npm", "@cucumber/compatibility-kit@30.0.0", "feature ndjson"),
    ("npm", "@types/node@26.6.6", "ts"),
    ("npm", "typescript@7.0.2", "ts js"),
    ("pip", "faker==40.54.0", "py"),
)
MACHINE = (
    ("data: Maven", str(Path.home() / ".m2"), "**/*.pom"),
    ("data: sound cards", "/usr/share/alsa", "**/*.conf"),
    ("code: Tcl", "/usr/share/tcltk", "**/*.tcl"),
    ("data: Tcl messages", "/usr/share/tcltk", "**/*.msg"),
    ("code: patches", str(Path.home() / ".pyenv"), "**/*.patch"),
    ("prose: Perl's pages", "/usr/share/perl", "**/*.pod"),
    ("prose: Perl modules", "/usr/share/perl5", "**/*.pod"),
)
NOUNS = [
    "ferry",
    "pier",
    "crane",
    "rope",
    "cargo",
    "onion",
    "ladle",
    "oven",
    "lamp",
    "tower",
    "stair",
    "doctor",
    "bandage",
    "sail",
    "mast",
    "rudder",
    "gull",
    "tide",
    "chart",
    "anchor",
    "net",
    "barrel",
    "crate",
    "scale",
    "ledger",
    "ticket",
    "whistle",
    "bell",
    "horn",
    "rope-maker",
    "pilot",
]
DOES = [
    "carries",
    "lifts",
    "weighs",
    "signs",
    "repairs",
    "counts",
    "buys",
    "sells",
    "inspects",
    "borrows",
    "returns",
    "names",
    "paints",
    "loads",
    "drops",
    "finds",
    "hides",
    "draws",
    "measures",
    "cooks",
]
HOW = [
    "slowly",
    "twice",
    "at-dawn",
    "by-hand",
    "with-care",
    "in-silence",
    "on-Monday",
    "for-free",
    "again",
    "without-help",
    "before-lunch",
]
VERBS = [
    "parse",
    "load",
    "merge",
    "split",
    "render",
    "fetch",
    "encode",
    "decode",
    "verify",
    "resolve",
    "commit",
    "flush",
    "trim",
    "clone",
]
FAULTS = [
    "KeyError",
    "ValueError",
    "TimeoutError",
    "ConnectionResetError",
    "PermissionError",
    "AssertionError",
    "IndexError",
]


class Fill:
    """`{noun}`, `{does}`, … in a form: one of them each time; `{n}` counts, `{r}` is any number."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __call__(self, form: str, n: int) -> str:
        pick = self.rng.choice
        out = form.replace("{n}", str(n + 1))
        for mark, words in (
            ("{noun}", NOUNS),
            ("{does}", DOES),
            ("{how}", HOW),
            ("{verb}", VERBS),
            ("{fault}", FAULTS),
        ):
            while mark in out:
                out = out.replace(mark, pick(words).replace("-", " "), 1)
        while "{r}" in out:
            out = out.replace("{r}", str(self.rng.randint(1, 4000)), 1)
        return out.replace("{t}", f"{8 + n // 60:02d}:{n % 60:02d}:{self.rng.randint(0, 59):02d}")


FORMS: dict[str, tuple[str, int, str]] = {
    "pods": ("{noun}-{r}-x{r}   1/1   Running   0   {n}m{r}s\n", 40, "polling"),
    "progress": ("[{t}] {n}/60 built {verb}_{noun}.o ({r} kB)\n", 60, "polling"),
    "download": ("Downloading {noun}-{r}.tar.gz ({r} kB, {n} of 45)\n", 45, "polling"),
    "tests pass": ("test {verb}_{noun}_{r} ... ok\n", 80, "log"),
    "pytest": ("tests/test_{noun}.py::test_{verb}_{noun} PASSED   [{n}%]\n", 90, "log"),
    "go test": ("--- PASS: Test{verb}{noun} (0.{r}s)\n", 60, "log"),
    "tracebacks": (
        '  File "/app/{noun}/{verb}.py", line {r}, in {verb}_{noun}\n    return {verb}({noun}, {r})\n',
        24,
        "log",
    ),
    "journal": ("Nov 22 {t} host{r} systemd[1]: Started {noun} {noun} service.\n", 50, "log"),
    "warnings": (
        "{noun}/{verb}.c:{r}:{r}: warning: unused variable '{noun}' [-Wunused-variable]\n",
        40,
        "log",
    ),
    "todo": ("- [ ] {verb} the {noun} of the {noun}\n", 24, "list"),
    "done": ("✅ {n}. The {noun} now {does} the {noun}\n", 20, "list"),
    "glossary": ("**{noun} {noun}**: what {does} a {noun} {how}.\n", 26, "list"),
    "changelog": ("* {verb}: {does} {noun} and {noun} ({r})\n", 34, "list"),
    "recipe": ("{n}. Take {r} g of {noun} and leave it {how} beside the {noun}.\n", 16, "list"),
    "answers": (
        "Q{n}. Who {does} the {noun} {how}?\nA. The {noun}, who also {does} the {noun}.\n\n",
        20,
        "list",
    ),
    "story": ("The {noun} {does} the {noun} {how}. ", 60, "prose"),
    "thoughts": ("Next, {verb}() {does} the {noun}, so I check {noun}.{verb} {how}.\n", 30, "prose"),
    "letters": (
        "Dear {noun}, the {noun} {does} our {noun} {how}, and we thank you for the {noun}. ",
        26,
        "prose",
    ),
    "getters": ("    def {verb}_{noun}(self) -> int:\n        return self._{noun}[{r}]\n\n", 40, "code"),
    "routes": ('router.get("/{noun}/{verb}/:id", {verb}{noun}); // {r}\n', 50, "code"),
    "records": ('{"id": {n}, "name": "{noun} {noun}", "count": {r}, "state": "{does}"}\n', 70, "data"),
    "ini": ("[{noun}{r}]\n{verb} = {r}\n{verb} = {noun}\n\n", 45, "data"),
    "moves": ("{n}. {noun} {r} {noun} {r} {how}\n", 50, "data"),
}
STATES = ("Pending", "ContainerCreating", "Running", "Running", "Completed")


def state_moves(rng: random.Random) -> str:
    """The same table again and again; what runs gets on."""
    names, out = [f"{rng.choice(NOUNS)}-{rng.randint(100, 999)}" for _ in range(4)], ""
    at = [0.0] * 4
    for look in range(12):
        out += "$ kubectl get pods\nNAME            READY   STATUS              AGE\n"
        for number, name in enumerate(names):
            at[number] = min(4, at[number] + rng.random())
            out += f"{name:15s} {int(at[number] > 1)}/1     {STATES[int(at[number])]:19s} {look * 15}s\n"
        out += "\n"
    return out


def refrain(rng: random.Random) -> str:
    """Verses of their own, one refrain of two lines."""
    both = "".join(Fill(rng)("Oh the {noun}, the {noun}, it {does} {how},\n", 0) for _ in range(2))
    fill = Fill(rng)
    return "".join(
        "".join(fill("the {noun} {does} the {noun} {how}\n", n) for n in range(5)) + both + "\n"
        for _ in range(7)
    )


def translations(rng: random.Random) -> str:
    at = rng.sample(range(6), 3)
    return "".join(f"{script}: {said[n]}\n" for n in at for script, said in SAID.items())


def vocabulary(rng: random.Random) -> str:
    said = [one for sentences in SAID.values() for one in sentences]
    return "".join(
        f"{n}. {one} – {rng.choice(NOUNS)}, {rng.choice(NOUNS)}\n"
        for n, one in enumerate(rng.sample(said, 40), 1)
    )


def fixed_twice(rng: random.Random) -> str:
    """An agent edits, runs, reads the error, edits: the frame stays, the error does not."""
    fill = Fill(rng)
    form = "The test still fails: `{fault}` in `{verb}_{noun}`, because the {noun} {does} the {noun}. I change `{noun}.py` so that it {does} the {noun} first, and run the tests again.\n\n"
    return "".join(fill(form, n) for n in range(12))


MADE: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "state moves": (state_moves, "polling"),
    "refrain": (refrain, "prose"),
    "translations": (translations, "list"),
    "vocabulary": (vocabulary, "list"),
    "fixed again": (fixed_twice, "prose"),
}


def drawn(seed: str) -> Iterator[Found]:
    """Every drawn text, in a stable order."""
    for kind, (form, lines, group) in FORMS.items():
        for number in range(PER_KIND):
            rng = random.Random(f"{seed}/{kind}/{number}")
            fill = Fill(rng)
            size = rng.randint(lines // 2, lines)
            yield Found(group, f"{kind}/{number}", "".join(fill(form, n) for n in range(size)))
    for kind, (make, group) in MADE.items():
        for number in range(PER_KIND):
            yield Found(group, f"{kind}/{number}", make(random.Random(f"{seed}/{kind}/{number}")))


def fetch(folder: Path, packages: tuple[tuple[str, str, str], ...] = PACKAGES) -> None:
    """Fetch every package with its registry's own client."""
    for client, name, _ in packages:
        target = folder / name.replace("/", "-")
        if target.exists():
            continue
        target.mkdir(parents=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(target),
            name,
        ]
        npm = ["npm", "pack", "--silent", "--pack-destination", str(target), name]
        subprocess.run(npm if client == "npm" else pip, check=True, stdout=subprocess.DEVNULL)
        for archive in [*target.glob("*.tgz"), *target.glob("*.whl")]:
            if archive.suffix == ".tgz":
                with tarfile.open(archive) as packed:
                    packed.extractall(target, filter="data")
            else:
                with zipfile.ZipFile(archive) as wheel:
                    wheel.extractall(target)
            archive.unlink()


def files(folder: Path | None, skip: int = 0) -> Iterator[Found]:
    """Files of the packages and of this machine, chosen by the hash of their names; `skip`: those that come next."""
    yield from packaged(folder, PACKAGES, skip)
    for kind, where, pattern in MACHINE:
        root = Path(where)
        yield from _chosen(kind, list(root.glob(pattern)), root, skip)


def packaged(
    folder: Path | None, packages: tuple[tuple[str, str, str], ...], skip: int = 0
) -> Iterator[Found]:
    """Files of the packages that `fetch` has brought."""
    for _, name, ends in packages if folder else ():
        root = folder / name.replace("/", "-") if folder else Path()
        found = [path for end in ends.split() for path in root.rglob(f"*.{end}")]
        yield from _chosen(f"file: {name.split('@')[0] or name.split('@')[1]}", found, root, skip)


def _chosen(kind: str, paths: list[Path], root: Path, skip: int) -> Iterator[Found]:
    paths.sort(key=lambda path: hashlib.sha256(str(path.relative_to(root)).encode()).digest())
    seen: set[str] = set()
    for path in paths:
        if not path.is_file() or len(seen) >= skip + PER_PACKAGE:
            continue
        text = path.read_bytes()[: 2 * CAP].decode("utf-8", "ignore")[:CAP]
        if len(text) >= 200 and "\0" not in text and text not in seen:
            seen.add(text)
            if len(seen) > skip:
                yield Found(kind, str(path), text)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
