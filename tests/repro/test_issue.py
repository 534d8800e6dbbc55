"""`repro --issue`: a report in the project's form, with the bytes of an answer, and nothing that is not to be shared."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from replayer.cli import main
from replayer.repro.issue import EXPECTED, PROJECTS
from replayer.tools.verdicts.verdict import FaultClass
from tests.generate import long_session

RUNS = Path(__file__).parents[1] / "captures" / "runs-h200"
WIRES = RUNS.parent / "wires"
PORTS = {"vllm": 8000, "sglang": 30000, "llamacpp": 8080, "trtllm": 8000}
SECRET = "sk-proj-abcdefghijklmnop1234567890"
HEADINGS = {
    "vllm": ["### Your current environment", "### 🐛 Describe the bug"],
    "sglang": ["### Describe the bug", "### Reproduction", "### Environment"],
    "llamacpp": ["### Name and Version", "### Problem description & steps to reproduce"],
    "trtllm": ["### System Info", "### Expected behavior", "### actual behavior"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("issue")
    trace = folder / "s.trace.jsonl"
    long_session(
        trace, turns=3, tokens=400, seed=1, task=f"The key is {SECRET}, the code in /home/alice/work."
    )
    engine = "a=simulated,kind=vllm,fault=leaked_markup@1"
    main(["run", "--trace", str(trace), "--engine", engine, "--out", str(folder / "run"), "--plain"])
    yield folder / "run"


@pytest.mark.parametrize("project", PROJECTS)
def test_a_report_has_the_projects_form(project: str, run: Path, tmp_path: Path) -> None:
    assert main(["repro", str(run), "1", "a", "-o", str(tmp_path / "bug"), "--issue", project]) == 0
    text = (tmp_path / "bug" / "ISSUE.md").read_text()
    assert all(heading in text for heading in HEADINGS[project])
    title = text.splitlines()[0]
    assert "leaked markup on /chat/completions" in title and len(title) < 130
    assert (
        "engine: vllm" in text and f"curl -sN http://localhost:{PORTS[project]}/v1/chat/completions" in text
    )
    assert EXPECTED["leaked_markup"] in text
    assert SECRET not in text and "alice" not in text and str(tmp_path) not in text and str(run) not in text


def test_a_real_fault_of_an_archived_run(tmp_path: Path) -> None:
    """vLLM 0.21 and SGLang 0.5.12 on an H200: the server is gone, so the kept answer stands for its bytes."""
    with tarfile.open(RUNS / "cache-off.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    for lane, project, version in (("vllm", "vllm", "0.21.0"), ("sglang", "sglang", "0.5.12.post1")):
        out = tmp_path / lane
        assert (
            main(["repro", str(tmp_path / "runs" / "off"), "1", lane, "-o", str(out), "--issue", project])
            == 0
        )
        text = (out / "ISSUE.md").read_text()
        assert version in text and "curl -sN" in text and "put together from the answer of the run" in text
        assert "127.0.0.1:80" not in text


def test_every_class_says_what_is_expected() -> None:
    missing = set(get_args(FaultClass)) - EXPECTED.keys()
    assert missing <= {"truncated", "unusable_schema"}, "those are not an engine's to mend"


@pytest.mark.parametrize(
    ("project", "folder", "case", "about", "fault"),
    [
        ("vllm", "vllm", "messages-tool-none-stream", "vllm 0.21.0", "choice_ignored"),
        ("sglang", "sglang", "reasoning-messages-think-unclosed-stream", "sglang 0.5.12", "empty_turn"),
        ("llamacpp", "llama.cpp", "messages-tool-none-stream", "xllamacpp 2026.10", "choice_ignored"),
    ],
)
def test_a_captured_exchange_is_a_report(
    project: str, folder: str, case: str, about: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real servers' bytes: a maintainer finds version, one command, the answer as it came and what was expected."""
    request, answer = (WIRES / folder / f"{case}.{end}" for end in ("request.json", "response.events"))
    assert main(["judge", str(request), str(answer), "--issue", project, "--about", about]) == 0
    text = capsys.readouterr().out
    assert all(heading in text for heading in HEADINGS[project])
    assert f"- engine: {about}\n" in text and EXPECTED[fault] in text
    command, _, rest = text.partition("<<'REQUEST'\n")
    assert f"curl -sN http://localhost:{PORTS[project]}/v1/messages" in command
    assert json.loads(rest.partition("\nREQUEST\n")[0]) == json.loads(request.read_bytes())
    assert answer.read_text().strip("\n") in text
    assert "/home/" not in text and str(WIRES) not in text
