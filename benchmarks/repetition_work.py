"""Sound agent work that looks like repetition: lists, logs, polling, tables, generated code, drawn with fixed seeds.

Every text says something new in each line, or shows a state that changes, as a model or a tool would write it. The two
parts share neither seeds nor words (`_words`). Kinds in `UNSEEN` exist in the validation part only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.repetition_loops import SEEDS, Part, Words

PER_KIND = 45
Group = Literal["prose", "list", "log", "polling", "code", "data"]


@dataclass(frozen=True, slots=True)
class Work:
    name: str
    kind: str
    group: Group
    text: str


class Pool:
    """One part's words: half of each list."""

    def __init__(self, part: Part, rng: random.Random) -> None:
        half = slice(0, None, 2) if part == "tuning" else slice(1, None, 2)
        self.rng = rng
        self.nouns = _NOUNS[half]
        self.files = [
            f"{folder}/{noun}.{end}" for folder in _FOLDERS[half] for noun in self.nouns for end in _ENDS
        ]
        self.verbs = _VERBS[half]
        self.faults = _FAULTS[half]
        self.reasons = _REASONS[half]
        self.sentences = Words(part).sentences

    def __getattr__(self, name: str) -> str:
        """`pool.noun`, `pool.file`, …: one of them."""
        return str(self.rng.choice(self.__dict__[name + "s"]))

    def n(self, high: int = 400) -> int:
        return self.rng.randint(1, high)


_FOLDERS = ["src", "lib", "app", "core", "server", "client", "tests", "tools"]
_ENDS = ("py", "ts", "rs", "go")
_NOUNS = [
    "parser",
    "queue",
    "session",
    "token",
    "cache",
    "router",
    "worker",
    "config",
    "schema",
    "index",
    "reader",
    "writer",
    "handler",
    "client",
    "buffer",
    "logger",
    "lexer",
    "planner",
    "socket",
    "stream",
    "cursor",
    "ledger",
    "metric",
    "signal",
    "filter",
    "mapper",
    "bridge",
    "engine",
    "record",
    "bundle",
    "folder",
    "packet",
    "header",
    "footer",
    "window",
    "canvas",
    "widget",
    "button",
    "dialog",
    "layout",
    "theme",
    "locale",
    "plugin",
    "module",
]
_VERBS = [
    "Fixed",
    "Added",
    "Removed",
    "Renamed",
    "Moved",
    "Documented",
    "Simplified",
    "Typed",
    "Tested",
    "Cached",
    "Split",
    "Merged",
    "Guarded",
    "Validated",
    "Replaced",
    "Inlined",
    "Extracted",
    "Deprecated",
    "Restored",
    "Sorted",
]
_FAULTS = [
    "type error",
    "missing import",
    "unused variable",
    "race condition",
    "off-by-one error",
    "memory leak",
    "stale lock",
    "dead branch",
    "wrong default",
    "missing test",
    "broken link",
    "slow query",
    "duplicate key",
    "bad regex",
    "unhandled case",
    "wrong sign",
    "lost update",
    "double free",
    "flaky test",
    "wrong exit code",
]
_REASONS = [
    "so that a restart keeps its state",
    "because two threads wrote it at once",
    "as the reviewer asked",
    "which made CI red",
    "since Python 3.11 warns about it",
    "and the caller now gets a clear message",
    "which nobody had noticed",
    "as in the other readers",
    "because the file may be empty",
    "so the order is stable",
    "to keep the diff small",
    "after the last release",
    "before the cache is warm",
    "without touching the public API",
    "for Windows paths",
    "as a follow-up to the refactor",
]

Kind = Callable[[Pool], str]


def fixed_list(p: Pool) -> str:
    return "".join(
        f"{n}. ✅ {p.verb} the {p.fault} in line {p.n()}\n" for n in range(1, p.rng.randint(8, 40))
    )


def fixed_files(p: Pool) -> str:
    return "".join(
        f"{n}. **{p.file}** – {p.verb.lower()} the {p.fault}\n" for n in range(1, p.rng.randint(8, 50))
    )


def same_fault_everywhere(p: Pool) -> str:
    """One fault in many files: only file and line differ."""
    fault = p.fault
    return "".join(
        f"- ✅ Fixed the {fault} in `{p.file}` (line {p.n()})\n" for _ in range(p.rng.randint(8, 30))
    )


def one_fault(p: Pool) -> str:
    """One fault in one file: only the line differs."""
    fault, line, out = p.fault, 1, ""
    for n in range(1, p.rng.randint(9, 31)):
        line += p.n(60)
        out += f"{n}. ✅ Fixed the {fault} in line {line}\n"
    return out


def releases(p: Pool) -> str:
    """Release notes that say the same of each release."""
    out, day = "", 1
    for minor in range(p.rng.randint(10, 22), 0, -1):
        day = day % 27 + p.rng.randint(1, 9)
        out += f"## 2.{minor}.0 (2025-{minor % 12 + 1:02d}-{day % 28 + 1:02d})\n\n- Bug fixes and small improvements of the {p.noun}.\n\n"
    return out


def same_release(p: Pool) -> str:
    what = p.noun
    return "".join(
        f"### v3.{n}.{p.n(9)}\n\n* Fix a crash of the {what} on start ({p.n(4000)})\n\n"
        for n in range(p.rng.randint(8, 18), 0, -1)
    )


def steady_pods(p: Pool) -> str:
    """Nothing but the age changes."""
    names = [
        f"{p.noun}-{p.rng.getrandbits(40):010x}-{p.rng.getrandbits(20):05x}"
        for _ in range(p.rng.randint(1, 3))
    ]
    out, age = "", 30
    for _ in range(p.rng.randint(6, 12)):
        out += "$ kubectl get pods\nNAME                            READY   STATUS    RESTARTS   AGE\n"
        out += "".join(f"{name:31s} 1/1     Running   0          {age}s\n" for name in names)
        age += p.rng.randint(4, 12)
    return out


def changelog(p: Pool) -> str:
    out = ""
    for minor in range(p.rng.randint(4, 12), 0, -1):
        out += f"\n## 1.{minor}.0 (2025-{minor:02d}-{p.n(27):02d})\n\n"
        out += "".join(
            f"- {p.verb} the {p.noun}: {p.fault} ({p.n(9000)})\n" for _ in range(p.rng.randint(2, 8))
        )
    return out


def bumps(p: Pool) -> str:
    lines = (
        f"* Bump {p.noun}-{p.noun} from {p.n(9)}.{p.n(20)}.0 to {p.n(9)}.{p.n(30)}.0 by @bot in #{p.n(9000)}\n"
        for _ in range(40)
    )
    return "## What's Changed\n\n" + "".join(lines)


def pods(p: Pool) -> str:
    """`kubectl get pods` again and again until all run."""
    names = [
        f"{p.noun}-{p.rng.getrandbits(40):010x}-{p.rng.getrandbits(20):05x}"
        for _ in range(p.rng.randint(2, 5))
    ]
    out, age = "", 3
    ready = {name: p.rng.randint(2, 9) for name in names}
    for look in range(10):
        out += (
            "$ kubectl get pods\nNAME                            READY   STATUS              RESTARTS   AGE\n"
        )
        for name in names:
            state = "1/1     Running          " if look >= ready[name] else "0/1     ContainerCreating"
            out += f"{name:31s} {state}   0          {age}s\n"
        out += "\n"
        age += p.rng.randint(4, 12)
    return out


def attempts(p: Pool) -> str:
    out = "".join(
        f"Waiting for {p.noun} to be ready… attempt {n}/15 (HTTP {p.rng.choice((502, 503))})\n"
        for n in range(1, p.rng.randint(6, 14))
    )
    return out + "ready after 12.4 s\n"


def one_wait(p: Pool) -> str:
    """The same line with a counter, until it works."""
    what, most = p.noun, p.rng.randint(6, 15)
    out = "".join(f"Waiting for the {what} to start ({n}/{most})...\n" for n in range(1, most))
    return out + f"The {what} is up. Now I can run the tests against it.\n"


def ping(p: Pool) -> str:
    out = "PING 10.0.0.7 (10.0.0.7) 56(84) bytes of data.\n"
    return out + "".join(
        f"64 bytes from 10.0.0.7: icmp_seq={n} ttl=63 time={p.rng.uniform(0.2, 9):.3f} ms\n"
        for n in range(1, 25)
    )


def server_log(p: Pool) -> str:
    out = ""
    for second in range(60):
        out += f"2026-04-01T10:{second // 6:02d}:{second % 6 * 10 + p.n(9):02d}Z {p.rng.choice(('INFO', 'INFO', 'WARN', 'DEBUG'))} {p.noun}: {p.verb.lower()} {p.noun} {p.rng.getrandbits(32):08x} in {p.n()} ms\n"
    return out


def access_log(p: Pool) -> str:
    return "".join(
        f'10.1.{p.n(9)}.{p.n(250)} - - [12/Mar/2026:10:{n // 60:02d}:{n % 60:02d} +0000] "GET /{p.noun}/{p.n()} HTTP/1.1" {p.rng.choice((200, 200, 304, 404))} {p.n(90000)}\n'
        for n in range(60)
    )


def pytest_output(p: Pool) -> str:
    total = p.rng.randint(30, 80)
    return "".join(
        f"tests/test_{p.noun}.py::test_{p.verb.lower()}_{p.noun}[{p.n()}] PASSED{' ' * 8}[{n * 100 // total:3d}%]\n"
        for n in range(1, total)
    )


def compiling(p: Pool) -> str:
    return (
        "".join(f"   Compiling {p.noun}-{p.noun} v{p.n(9)}.{p.n(30)}.{p.n(9)}\n" for _ in range(50))
        + "    Finished `dev` profile\n"
    )


def pip_output(p: Pool) -> str:
    return "".join(
        f"Collecting {p.noun}-{p.noun}>={p.n(9)}.{p.n(9)}\n  Using cached {p.noun}_{p.noun}-{p.n(9)}.{p.n(9)}-py3-none-any.whl ({p.n(900)} kB)\n"
        for _ in range(30)
    )


def lint(p: Pool) -> str:
    return (
        "".join(
            f"{p.file}:{p.n()}:{p.n(80)}: F401 [*] `{p.noun}.{p.noun}` imported but unused\n"
            for _ in range(40)
        )
        + "Found 40 errors.\n"
    )


def progress(p: Pool) -> str:
    return "".join(
        f"Downloading {p.noun}: {n * 4:3d}%|{'█' * n}{' ' * (25 - n)}| {n * 37.3:.1f}/932M [{n:02d}:00<{25 - n:02d}:00]\n"
        for n in range(26)
    )


def git_log(p: Pool) -> str:
    return "".join(
        f"commit {p.rng.getrandbits(160):040x}\nAuthor: Ana Li <ana@example.com>\nDate:   Mon Mar {p.n(28)} 2026\n\n    {p.verb} the {p.fault} in {p.noun}\n\n"
        for _ in range(25)
    )


def listing(p: Pool) -> str:
    return "".join(
        f"-rw-r--r-- 1 dev dev {p.n(90000):7d} Mar {p.n(28):2d} 10:{p.n(59):02d} {p.noun}_{p.noun}.py\n"
        for _ in range(50)
    )


def narration(p: Pool) -> str:
    """An agent says what it reads next; each sentence names another file."""
    return "".join(
        f"Let me look at `{p.file}` next. It {p.rng.choice(('imports', 'calls', 'defines'))} the {p.noun}, {p.reason}. "
        for _ in range(25)
    )


def review(p: Pool) -> str:
    return "\n\n".join(
        f"### {p.file}\n\n{p.verb} the {p.fault} in `{p.noun}()`, {p.reason}. The {p.noun} now checks the {p.noun} first."
        for _ in range(20)
    )


def todo(p: Pool) -> str:
    """A plan whose state is shown again after each task."""
    tasks = [f"{p.verb[:-2]} the {p.noun} ({p.fault})" for _ in range(6)]
    return "\n".join(
        "".join(f"- [{'x' if i < done else ' '}] {task}\n" for i, task in enumerate(tasks))
        + f"\n{p.verb} the {p.noun}, {p.reason}.\n"
        for done in range(1, 7)
    )


def table(p: Pool) -> str:
    return "| file | fault | line |\n|---|---|---|\n" + "".join(
        f"| `{p.file}` | {p.fault} | {p.n()} |\n" for _ in range(40)
    )


def csv(p: Pool) -> str:
    return "id,name,state,ms\n" + "".join(
        f"{n},{p.noun},{p.rng.choice(('ok', 'ok', 'late'))},{p.n()}\n" for n in range(120)
    )


def sql(p: Pool) -> str:
    return "".join(
        f"INSERT INTO {p.noun}s (id, name, total) VALUES ({n}, '{p.noun} {p.noun}', {p.n()}.00);\n"
        for n in range(1, 60)
    )


def getters(p: Pool) -> str:
    names = p.rng.sample(p.nouns, 20)
    return "".join(
        f"    @property\n    def {name}(self) -> str:\n        return self._{name}\n\n" for name in names
    )


def assertions(p: Pool) -> str:
    return "".join(f"    assert {p.noun}({p.n()}) == {p.n()}\n" for _ in range(50))


def cases(p: Pool) -> str:
    return (
        "switch (code) {\n"
        + "".join(f'  case {n}:\n    return "{p.noun} {p.fault}";\n' for n in range(100, 150))
        + "}\n"
    )


def css(p: Pool) -> str:
    return "".join(f".{p.noun}-{n} {{ margin: {n * 4}px; padding: {n * 2}px; }}\n" for n in range(60))


def translations(p: Pool) -> str:
    return json.dumps({f"{p.noun}.{p.noun}.{n}": f"{p.verb} the {p.noun}" for n in range(60)}, indent=2)


def multilingual_list(p: Pool) -> str:
    sentences = p.sentences[p.rng.choice(list(p.sentences))]
    return "".join(f"{n}. {sentence}\n" for n, sentence in enumerate(sentences, 1))


def song(p: Pool) -> str:
    """Verses with a refrain of two lines, four times."""
    refrain = f"Oh, the {p.noun} is down, the {p.noun} is down,\nand nobody knows the {p.noun}.\n\n"
    return "".join(
        f"I went to the {p.noun}, {p.reason},\nand found a {p.fault} there,\n{refrain}" for _ in range(4)
    )


def stack_trace(p: Pool) -> str:
    frames = "".join(
        f'  File "{p.file}", line {p.n()}, in {p.noun}\n    return self.{p.noun}({p.noun})\n'
        for _ in range(14)
    )
    again = f'  File "{p.file}", line 12, in walk\n    walk(node.next)\n' * 3
    return f"Traceback (most recent call last):\n{frames}{again}  [Previous line repeated 975 more times]\nRecursionError\n"


# --- validation only ------------------------------------------------------------------------------------------


def docker_ps(p: Pool) -> str:
    out = ""
    ids = [(f"{p.rng.getrandbits(48):012x}", p.noun) for _ in range(3)]
    for minute in range(2, 14):
        out += "CONTAINER ID   IMAGE          STATUS          PORTS\n"
        out += "".join(
            f"{key}   {name:12s}   Up {minute} minutes    0.0.0.0:80{n}->80/tcp\n"
            for n, (key, name) in enumerate(ids)
        )
    return out


def nvidia_smi(p: Pool) -> str:
    return "".join(
        f"[{n:02d}:00] GPU 0: {p.n(99)} % util, {p.n(80)} GiB used, {60 + p.n(20)} C, {p.n(600)} W\n"
        for n in range(40)
    )


def training(p: Pool) -> str:
    return "".join(
        f"epoch {n:3d}/100  loss {3 / n:.4f}  val_loss {3.3 / n + p.rng.random() / 9:.4f}  lr 3.00e-04  {p.n(60)} s\n"
        for n in range(1, 80)
    )


def glossary(p: Pool) -> str:
    return "".join(
        f"**{noun}**: the part that {p.verb.lower()} the {p.noun}, {p.reason}.\n\n" for noun in p.nouns
    )


def faq(p: Pool) -> str:
    return "".join(
        f"Q: Why was the {p.noun} {p.verb.lower()}?\nA: There was a {p.fault}, {p.reason}. See `{p.file}`.\n\n"
        for _ in range(25)
    )


def enum_docs(p: Pool) -> str:
    return "".join(
        f"{n:#06x}  {p.noun.upper()}_{p.noun.upper()}  /* {p.fault}, {p.reason} */\n" for n in range(60)
    )


def tsc(p: Pool) -> str:
    return "".join(
        f"{p.file}({p.n()},{p.n(80)}): error TS2345: Argument of type 'string' is not assignable to parameter of type '{p.noun.title()}'.\n"
        for _ in range(30)
    )


def ansible(p: Pool) -> str:
    out = ""
    for _ in range(15):
        out += f"TASK [{p.noun} : {p.verb} the {p.noun}] " + "*" * 40 + "\n"
        out += "".join(f"{p.rng.choice(('ok', 'changed'))}: [host{n}]\n" for n in range(1, 5)) + "\n"
    return out


def yaml_matrix(p: Pool) -> str:
    return "".join(
        f"  - name: {p.noun}-{n}\n    image: {p.noun}:{p.n(9)}.{p.n(9)}\n    ports: [{8000 + n}]\n    restart: always\n"
        for n in range(40)
    )


def recipe(p: Pool) -> str:
    return "".join(
        f"{n}. {p.verb} the {p.noun} {p.reason}, then wait {p.n(50)} minutes.\n" for n in range(1, 20)
    )


def same_sentence_new_object(p: Pool) -> str:
    return "".join(f"{n}. Added a docstring to `{p.noun}_{p.noun}` in `{p.file}`.\n" for n in range(1, 30))


def benchmarks(p: Pool) -> str:
    return "".join(
        f"test {p.noun}::{p.noun}_{p.verb.lower()} ... bench: {p.n(90000):>10,} ns/iter (+/- {p.n(900)})\n"
        for _ in range(45)
    )


def diff(p: Pool) -> str:
    return "".join(
        f"@@ -{p.n()},3 +{p.n()},3 @@\n-from {p.noun} import {p.noun}\n+from app.{p.noun} import {p.noun}\n"
        for _ in range(25)
    )


def html_rows(p: Pool) -> str:
    return (
        "<table>\n"
        + "".join(f"  <tr><td>{p.noun}</td><td>{p.fault}</td><td>{p.n()}</td></tr>\n" for _ in range(60))
        + "</table>\n"
    )


def protobuf(p: Pool) -> str:
    return (
        "message Row {\n"
        + "".join(f"  optional string {p.noun}_{p.noun} = {n};\n" for n in range(1, 70))
        + "}\n"
    )


def all_pass(p: Pool) -> str:
    """One line per case, each of them fine."""
    return (
        "".join(f"✅ {p.noun} {p.verb.lower()} {p.noun}: OK ({p.n(90)} ms)\n" for _ in range(35))
        + "\nAll 35 checks passed.\n"
    )


def watch(p: Pool) -> str:
    """A status line every few seconds while a job runs."""
    out = "".join(
        f"[{n * 5:3d} s] job {p.noun}: running, {n * 4} % done, {400 - n * 16} rows left\n"
        for n in range(1, 25)
    )
    return out + "done in 126 s\n"


KINDS: dict[str, tuple[Kind, Group]] = {
    "fixed list": (fixed_list, "list"),
    "fixed files": (fixed_files, "list"),
    "one fault everywhere": (same_fault_everywhere, "list"),
    "one fault": (one_fault, "list"),
    "releases": (releases, "list"),
    "same release": (same_release, "list"),
    "steady pods": (steady_pods, "polling"),
    "changelog": (changelog, "list"),
    "bumps": (bumps, "list"),
    "pods": (pods, "polling"),
    "attempts": (attempts, "polling"),
    "one wait": (one_wait, "polling"),
    "ping": (ping, "polling"),
    "server log": (server_log, "log"),
    "access log": (access_log, "log"),
    "pytest": (pytest_output, "log"),
    "compiling": (compiling, "log"),
    "pip": (pip_output, "log"),
    "lint": (lint, "log"),
    "progress": (progress, "polling"),
    "git log": (git_log, "log"),
    "listing": (listing, "data"),
    "narration": (narration, "prose"),
    "review": (review, "prose"),
    "todo": (todo, "list"),
    "table": (table, "data"),
    "csv": (csv, "data"),
    "sql": (sql, "code"),
    "getters": (getters, "code"),
    "assertions": (assertions, "code"),
    "cases": (cases, "code"),
    "css": (css, "code"),
    "translations": (translations, "data"),
    "lists of 29 scripts": (multilingual_list, "list"),
    "song": (song, "prose"),
    "stack trace": (stack_trace, "log"),
    # Only in the validation part:
    "docker ps": (docker_ps, "polling"),
    "GPU": (nvidia_smi, "polling"),
    "training": (training, "log"),
    "glossary": (glossary, "prose"),
    "questions": (faq, "prose"),
    "constants": (enum_docs, "code"),
    "compiler errors": (tsc, "log"),
    "ansible": (ansible, "log"),
    "yaml": (yaml_matrix, "data"),
    "recipe": (recipe, "list"),
    "docstrings": (same_sentence_new_object, "list"),
    "benchmarks": (benchmarks, "log"),
    "diff": (diff, "code"),
    "HTML rows": (html_rows, "data"),
    "protobuf": (protobuf, "code"),
    "all pass": (all_pass, "list"),
    "watch": (watch, "polling"),
}
UNSEEN = tuple(KINDS)[tuple(KINDS).index("docker ps") :]


def works(part: Part) -> Iterator[Work]:
    """Every text of a part, in a stable order; half of them after a sentence of prose."""
    for kind, (make, group) in KINDS.items():
        if part == "tuning" and kind in UNSEEN:
            continue
        for number in range(PER_KIND):
            rng = random.Random(f"work {SEEDS[part]}/{kind}/{number}")
            pool = Pool(part, rng)
            before = (
                f"I {pool.verb.lower()} the {pool.noun}, {pool.reason}. Here is what came out:\n\n"
                if number % 2
                else ""
            )
            yield Work(f"{kind}/{number}", kind, group, before + make(pool))
