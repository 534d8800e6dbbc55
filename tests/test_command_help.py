"""What the command line offers who does not know it by heart: examples, the nearest word, and runs wherever they lie."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from replayer.cli import COMMANDS, main
from replayer.journal.log import find_run, list_runs


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main(words)
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_two_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = _said(capsys, command, "--help")
    examples = re.findall(rf"^ *(?:[^\n]* \| )?(replayer {command}\b.*)$", shown, re.MULTILINE)
    assert len({*examples}) >= 2, shown


@pytest.mark.parametrize("command", COMMANDS)
def test_a_usage_line_leaves_the_sight_of_what_went_wrong(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(_said(capsys, command, "--help").partition("\n\n")[0].splitlines()) <= 6


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("wathc",), "watch"),
        (("raport", "last"), "report"),
        (("report", "last", "--markdwon", "x"), "--markdown"),
        (("run", "--trace", "a", "--engien=a"), "--engine"),
        (("trace", "sohw"), "show"),
    ],
)
def test_the_nearest_word_is_named(
    words: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"did you mean {meant}?" in _said(capsys, *words)


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--port", "99999"),
        ("watch", "x", "--web", "--port", "-1"),
        ("record", "--upstream", "http://127.0.0.1:9", "--port", "http"),
        ("record", "--upstream", "https://127.0.0.1:9", "--port", "99999"),
        ("resume", "x", "--metrics-port", "65536"),
    ],
)
def test_what_is_not_a_port_is_said_in_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _said(capsys, *words).rstrip().endswith("is not a port: a number from 0 (any free) to 65535")


def test_nothing_is_guessed_for_what_is_like_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean" not in _said(capsys, "qqqqq")


def test_runs_and_last_know_a_run_made_with_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["audit", "first-look"]) == main(["audit", "first-look", "--out", str(elsewhere)]) == 0
    assert find_run("last") == elsewhere and len(list_runs()) == 2
    main(["audit", "first-look", "--out", "runs/later"])
    assert [folder.name for folder in list_runs()][1:] == ["elsewhere", "later"]
    monkeypatch.chdir(tmp_path)
    assert list_runs() == [], "runs of another folder are not this one's"
    monkeypatch.chdir(here)
    (elsewhere / "journal.jsonl").unlink()
    assert find_run("last").name == "later"


@pytest.mark.parametrize(
    ("typed", "offered"), [("replayer wat", "watch"), ("replayer report --mark", "--markdown")]
)
def test_bash_completes_commands_and_their_flags(
    typed: str, offered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bash = shutil.which("bash")
    assert bash, "bash is needed"
    script = _said(capsys, "--print-completion", "bash")
    words = typed.split()
    asked = f'COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _shtab_replayer; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run([bash, "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=False)
    assert offered in done.stdout.split(), done


def test_completion_for_zsh_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    script = _said(capsys, "--print-completion", "zsh")
    assert script.startswith("#compdef replayer") and all(f"{name}:" in script for name in COMMANDS)


def test_traces_are_taken_as_a_shell_expands_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--trace", "first-look", "gone", "--engine", "a=simulated"]) == 2
    assert "gone" in capsys.readouterr().err
    assert (
        main(["run", "--engine", "a=simulated", "--trace", "first-look", "fix-failing-test", "gone.toml"])
        == 2
    )
    assert "plan file gone.toml does not exist" in capsys.readouterr().err
