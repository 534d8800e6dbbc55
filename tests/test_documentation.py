"""The documentation: builds without a warning, its links hold, and every command in it is run and does what it says."""

import argparse
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import takewhile
from pathlib import Path
from typing import get_args

import pytest

from replayer.cli import COMMANDS, load
from replayer.tools.verdicts.verdict import FaultClass
from tests.traces.samples import samples

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
LESS = {
    "throughput-ramp": "--set workload.requests=2 --set workload.sessions=2 --set matrix.concurrency=[1,2] --set cool_down=0",
    "decode-length": "--set workload.requests=2 --set matrix.max_tokens=[16,32] --set workload.sessions=2 --set cool_down=0",
    "capacity": "--duration 1 --cap 2",
}
"""What keeps a command of the documentation short here; nothing else is changed but the servers' addresses."""


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=settings)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page: page.read_text() for page in tmp_path.rglob("*.html")}
    for page, text in pages.items():
        assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"?https?:", text), page
    commands = (tmp_path / "commands" / "index.html").read_text()
    assert all(f'id="{name}"' in commands for name in COMMANDS)
    assert 'id="lanefigures"' in (tmp_path / "json-keys" / "index.html").read_text()
    assert "<code>repetition_penalty</code>" not in (tmp_path / "plan-keys" / "index.html").read_text()
    assert "<code>usable_turn_rate</code>" in (tmp_path / "metrics" / "index.html").read_text()


def test_every_key_of_a_plan_has_its_sentence() -> None:
    reference = [sys.executable, str(REPOSITORY / "scripts" / "reference.py"), "plan-keys.md"]
    page = subprocess.run(reference, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", page, re.MULTILINE)
    assert {"traces", "lane", "matrix", "url", "sampling", "sessions", "first_byte", "ttft_ms"} <= {
        key for key, _ in rows
    }
    assert [key for key, meaning in rows if not re.search(r"\w \w.*\.$", meaning)] == []


def test_links_of_pages_outside_the_site_hold() -> None:
    """mkdocs checks those of its own pages."""
    for page in (REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (REPOSITORY / target).exists(), (page.name, target)


def test_the_page_of_faults_has_every_class() -> None:
    table = (DOCS / "faults.md").read_text().split("## What ends")[0]
    found = {
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert found == set(get_args(FaultClass))


def commands_of(page: Path) -> list[str]:
    """Lines of blocks without a language, continued ones joined."""
    blocks = re.findall(r"^```\n(.*?)^```", page.read_text(), re.S | re.M)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith(("replayer ", "printf "))]


def mentioned(page: Path) -> list[list[str]]:
    """Every other command: in a sentence, a table, or a block in which words like URL stand for something."""
    text = page.read_text().replace("\\\n", " ")
    spans = re.findall(r"`(replayer [^`]+)`", text) + re.findall(
        r"^(?:\$ )?(replayer [^#\n]*)", text, re.MULTILINE
    )
    split = (shlex.split(span, comments=True)[1:] for span in spans)
    found = [list(takewhile(lambda word: word not in ("|", ";", ">", "&&", "…"), words)) for words in split]
    return [
        words
        for words in found
        if words and words[0] in COMMANDS and len(words) > 2 and "--help" not in words
    ]


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.glob("*.md")), REPOSITORY / "README.md"], ids=lambda page: page.name
)
def test_every_command_that_is_mentioned_is_accepted(page: Path) -> None:
    for name, *words in mentioned(page):
        parser = argparse.ArgumentParser(exit_on_error=False)
        load(name).configure(parser)
        try:
            parser.parse_args(words)
        except SystemExit:
            pytest.fail(f"replayer {name} {shlex.join(words)}")


PAGES = [page for page in [*sorted(DOCS.glob("*.md")), REPOSITORY / "README.md"] if commands_of(page)]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """What listens on the ports that the documentation names."""
    found = {}
    with ExitStack() as running:
        for port, kind in (("8000", "vllm"), ("30000", "sglang")):
            words = [
                "simulate",
                "--kind",
                kind,
                "--port",
                "0",
                "--tok-s",
                "20000",
                "--ttft-ms",
                "1",
                "--lora",
                "tuned",
            ]
            words += [
                word
                for trace in ("fix-failing-test", "flaky-service", "first-look")
                for word in ("--trace", trace)
            ]
            command = [sys.executable, "-m", "replayer", *words]
            server = running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            running.callback(server.terminate)
            assert server.stdout is not None
            at = re.search(r"127\.0\.0\.1:\d+", server.stdout.readline())
            assert at, "the server ended"
            found[f"127.0.0.1:{port}"] = at[0]
        yield found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's machine: sessions of three agents, and `replayer` on the path."""
    places = {
        "zed-threads-db": ".local/share/zed/threads/threads.db",
        "claude-code": ".claude/projects/-home-me-app/session.jsonl",
        "codex": ".codex/sessions/2026/01/01/rollout-session.jsonl",
    }
    made = samples(tmp_path)
    for name, place in places.items():
        sample = next(one for one in made if one.format == name)
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_bytes(sample.data)
    with closing(sqlite3.connect(tmp_path / places["zed-threads-db"])) as database:
        database.execute("delete from threads where id = 'bad-1'")
        database.commit()
    shim = tmp_path / "bin" / "replayer"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m replayer "$@"\n')
    shim.chmod(0o755)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_their_order(page: Path, servers: dict[str, str], home: Path) -> None:
    def here(text: str) -> str:
        for written, meant in servers.items():
            text = text.replace(written, meant)
        return text

    for name, plan in re.findall(r"^```toml\n# (\S+\.toml)\n(.*?)^```", page.read_text(), re.S | re.M):
        (home / name).write_text(here(plan))
    settings = {
        **os.environ,
        "HOME": str(home),
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
    }
    ran = 0
    for line in commands_of(page):
        more = next((words for word, words in LESS.items() if word in line.split()[:3]), "")
        done = subprocess.run(
            ["bash", "-c", f"{here(line)} {more}"],
            cwd=home,
            env=settings,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        ran += 1
        assert done.returncode == 0, (line, done.stderr[-1500:], done.stdout[-500:])
    assert ran
