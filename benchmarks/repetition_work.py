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

from benchmarks import repetition_outputs as printed
from benchmarks.repetition_loops import SEEDS, Part
from benchmarks.repetition_words import Pool

PER_KIND = 45
Group = Literal["prose", "list", "log", "polling", "code", "data"]
Kind = Callable[[Pool], str]


@dataclass(frozen=True, slots=True)
class Work:
    name: str
    kind: str
    group: Group
    text: str


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


KINDS: dict[str, tuple[Kind, Group]] = {
    "fixed list": (fixed_list, "list"),
    "fixed files": (fixed_files, "list"),
    "one fault everywhere": (same_fault_everywhere, "list"),
    "one fault": (one_fault, "list"),
    "releases": (releases, "list"),
    "same release": (same_release, "list"),
    "steady pods": (printed.steady_pods, "polling"),
    "changelog": (changelog, "list"),
    "bumps": (bumps, "list"),
    "pods": (printed.pods, "polling"),
    "attempts": (printed.attempts, "polling"),
    "one wait": (printed.one_wait, "polling"),
    "ping": (printed.ping, "polling"),
    "server log": (printed.server_log, "log"),
    "access log": (printed.access_log, "log"),
    "pytest": (printed.pytest_output, "log"),
    "compiling": (printed.compiling, "log"),
    "pip": (printed.pip_output, "log"),
    "lint": (printed.lint, "log"),
    "progress": (printed.progress, "polling"),
    "git log": (printed.git_log, "log"),
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
    "stack trace": (printed.stack_trace, "log"),
    # Only in the validation part:
    "docker ps": (printed.docker_ps, "polling"),
    "GPU": (printed.nvidia_smi, "polling"),
    "training": (printed.training, "log"),
    "glossary": (glossary, "prose"),
    "questions": (faq, "prose"),
    "constants": (enum_docs, "code"),
    "compiler errors": (printed.tsc, "log"),
    "ansible": (printed.ansible, "log"),
    "yaml": (yaml_matrix, "data"),
    "recipe": (recipe, "list"),
    "docstrings": (same_sentence_new_object, "list"),
    "benchmarks": (printed.benchmarks, "log"),
    "diff": (diff, "code"),
    "HTML rows": (html_rows, "data"),
    "protobuf": (protobuf, "code"),
    "all pass": (all_pass, "list"),
    "watch": (printed.watch, "polling"),
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
