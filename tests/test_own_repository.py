"""The user's own session on the user's own repository: imported, mapped, executed, and counted where it cannot be."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from replayer.journal.events import ToolRunFinished
from replayer.journal.log import read
from tests.run.test_runs import replayer

pytestmark = pytest.mark.sandbox

HOME = "/Users/me/app"
TURNS = [
    ("Read", {"file_path": f"{HOME}/greet.py"}, "     1→def greet(name):\n     2→    return 'Hi ' + name\n"),
    ("Grep", {"pattern": "greet", "path": HOME, "output_mode": "content"}, "greet.py:1:def greet(name):"),
    ("Edit", {"file_path": f"{HOME}/greet.py", "old_string": "Hi ", "new_string": "Hello "},
     f"The file {HOME}/greet.py has been updated successfully."),
    ("Bash", {"command": f"cd {HOME} && git diff --stat && python3 -c 'import greet; print(greet.greet(\"you\"))'"},
     " greet.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\nHello you"),
    ("Bash", {"command": "gh pr view"}, "Pull request #7"),
    ("WebFetch", {"url": "https://example.com", "prompt": "?"}, "Example Domain"),
    ("mcp__tickets__get", {"id": 7}, "Ticket 7"),
]  # fmt: skip


def session(path: Path) -> Path:
    """A Claude Code session file as its versions 2.x write it."""
    lines, parent = [], None

    def add(number, kind, content, **message):
        nonlocal parent
        line = {
            "uuid": f"u{number}", "parentUuid": parent, "isSidechain": False, "cwd": HOME, "sessionId": "s",
            "version": "2.1.0", "timestamp": f"2026-01-01T00:00:{number:02}.000Z", "type": kind,
            "message": {"role": kind, "content": content, **message},
        }  # fmt: skip
        parent = line["uuid"]
        lines.append(json.dumps(line))

    add(0, "user", "Say Hello instead of Hi.")
    for number, (tool, arguments, result) in enumerate(TURNS):
        call = [{"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}]
        usage = {"input_tokens": 100, "output_tokens": 9}
        add(2 * number + 1, "assistant", call, id=f"m{number}", model="m", usage=usage)
        add(2 * number + 2, "user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result}])
    add(50, "assistant", [{"type": "text", "text": "Done."}], id="end", model="m", usage={"output_tokens": 1})
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "greet.py").write_text("def greet(name):\n    return 'Hi ' + name\n")
    git = ["git", "-C", str(folder), "-c", "user.name=u", "-c", "user.email=u@x"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (folder / "greet.py").write_text("broken in the working tree\n")
    return folder


@pytest.mark.parametrize(("mode", "mapped"), [("recorded", True), ("live", True), ("live", False)])
def test_an_imported_session_executes_in_the_users_repository(
    tmp_path: Path, repository: Path, mode: str, mapped: bool
) -> None:
    """Without a map the recorded project's root is taken for the workspace."""
    source = session(tmp_path / "s.jsonl")
    assert replayer("import", source, "-o", tmp_path / "traces").returncode == 0
    (trace,) = (tmp_path / "traces").iterdir()
    done = replayer(
        "run", "--trace", trace, "--engine", "a=simulated", "--mode", mode, "--tools", "sandbox",
        "--workspace", f"{repository}@HEAD", *(["--map", f"{HOME}=/workspace"] if mapped else []),
        "--out", tmp_path / "run", "--json",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    runs = [event for event in read(tmp_path / "run") if isinstance(event, ToolRunFinished)]
    assert [(run.name, run.against_recorded) for run in runs[:4]] == [
        (tool, "same") for tool in ("Read", "Grep", "Edit", "Bash")
    ], runs
    expected = {"ok": 4, "exit_code": 1, "not_executable_here": 2}
    if mode == "live":
        expected = {"ok": 4, "exit_code": 1, "recorded": 2}
    assert Counter(run.outcome for run in runs) == expected
    assert (repository / "greet.py").read_text() == "broken in the working tree\n"


def test_a_session_of_no_known_agent_is_not_replayed_as_if_its_calls_had_run(
    tmp_path: Path, repository: Path
) -> None:
    source = session(tmp_path / "s.jsonl")
    text = source.read_text()
    for tool, _, _ in TURNS:
        text = text.replace(f'"name": "{tool}"', f'"name": "x{tool}"')
    source.write_text(text)
    replayer("import", source, "-o", tmp_path / "traces")
    (trace,) = (tmp_path / "traces").iterdir()
    done = replayer(
        "run", "--trace", trace, "--engine", "a=simulated", "--tools", "sandbox", "--workspace", repository,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 2
    assert "its tools belong to no agent that replayer knows" in done.stderr


def test_a_weaker_isolation_is_had_by_name_and_is_said(tmp_path: Path, repository: Path) -> None:
    source = session(tmp_path / "s.jsonl")
    replayer("import", source, "-o", tmp_path / "traces")
    (trace,) = (tmp_path / "traces").iterdir()
    done = replayer(
        "run", "--trace", trace, "--engine", "a=simulated", "--tools", "sandbox", "--sandbox", "landlock",
        "--workspace", f"{repository}@HEAD", "--max-turns", "4", "--out", tmp_path / "run", "--plain",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    events = list(read(tmp_path / "run"))
    started = next(event for event in events if event.type == "run_started")
    assert started.environment["sandbox"] == "landlock"
    assert any(event.type == "warning" and "weaker isolation" in event.message for event in events)
    assert [event.outcome for event in events if isinstance(event, ToolRunFinished)] == ["ok"] * 4
