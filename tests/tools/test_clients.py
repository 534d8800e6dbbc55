"""Results in the words of each client. Wanted texts are those of real recordings, shortened."""

import json

import pytest

from replayer.tools.clients.base import find_lines, unified
from replayer.tools.execution import Executor
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace
from replayer.tools.toolsets import KITS, load
from replayer.traces.schema import ToolCallItem
from replayer.wire.types import ToolCall

FILES = {
    "src/a.py": "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "src/b.txt": "alpha\nbeta\ngamma\n",
    "empty": "",
}


class Session:
    def __init__(self, box, kit, path_map=None):
        self.box = box
        self.executor = Executor(box, load(kit), path_map)

    async def __call__(self, tool, **arguments):
        return await self.executor.execute(ToolCall(0, "c", tool, json.dumps(arguments)))

    async def text(self, tool, **arguments):
        return (await self(tool, **arguments)).output


@pytest.fixture
async def box():
    async with await Sandbox.start(Workspace.from_files(FILES)) as sandbox:
        yield sandbox


@pytest.mark.sandbox
async def test_claude_code_files(box):
    say = Session(box, "claude-code").text
    path = "/workspace/src/b.txt"
    assert await say("Read", file_path=path) == "     1→alpha\n     2→beta\n     3→gamma\n"
    assert await say("Read", file_path=path, offset=2, limit=1) == "     2→beta"
    assert "contents are empty" in await say("Read", file_path="/workspace/empty")
    assert (
        await say("Read", file_path="/workspace/no")
        == "<tool_use_error>File does not exist.</tool_use_error>"
    )
    assert await say("Edit", file_path=path, old_string="beta", new_string="BETA") == (
        f"The file {path} has been updated successfully."
    )
    assert await say("Edit", file_path=path, old_string="zeta", new_string="x") == (
        "<tool_use_error>String to replace not found in file.\nString: zeta</tool_use_error>"
    )
    assert "Found 2 matches" in await say(
        "Edit", file_path="/workspace/src/a.py", old_string="return", new_string="x"
    )
    await say(
        "Edit", file_path="/workspace/src/a.py", old_string="return", new_string="yield", replace_all=True
    )
    assert (await box.read_file("src/a.py")).count(b"yield") == 2
    assert (
        await say("Write", file_path="/workspace/n", content="n")
        == "File created successfully at: /workspace/n"
    )
    assert (await say("Write", file_path="/workspace/n", content="m")).endswith("edited file:\n     1→m")
    both = [{"old_string": "alpha", "new_string": "a2"}, {"old_string": "a2\n", "new_string": "AA\n"}]
    await say("MultiEdit", file_path=path, edits=both)
    assert await box.read_file("src/b.txt") == b"AA\nBETA\ngamma\n"


@pytest.mark.sandbox
async def test_claude_code_searches(box):
    say = Session(box, "claude-code").text
    assert await say("Glob", pattern="**/*.py") == "/workspace/src/a.py"
    assert await say("Glob", pattern="*.rs") == "No files found"
    assert await say("Grep", pattern="return") == "Found 1 file\nsrc/a.py"
    assert await say("Grep", pattern="a", type="txt") == "Found 1 file\nsrc/b.txt"
    assert await say("Grep", pattern="alpha.beta", multiline=True) == "No files found"
    assert await say("Grep", pattern="alpha\\sbeta") == "No files found"
    assert await say("Grep", pattern="alpha\\sbeta", multiline=True) == "Found 1 file\nsrc/b.txt"
    assert await say("Grep", pattern="RETURN", **{"-i": True}) == "Found 1 file\nsrc/a.py"
    assert await say("Grep", pattern="return", output_mode="content") == (
        "src/a.py:5:    return 1\nsrc/a.py:9:    return 2"
    )
    assert await say(
        "Grep", pattern="beta", path="/workspace/src/b.txt", output_mode="content", **{"-A": 1}
    ) == ("2:beta\n3-gamma")
    assert await say("Grep", pattern="a$", output_mode="count") == (
        "src/b.txt:3\n\nFound 3 total occurrences across 1 files."
    )
    assert await say("Grep", pattern="nothing") == "No files found"


@pytest.mark.sandbox
async def test_claude_code_bash_keeps_its_folder_and_says_exit_codes(box):
    claude = Session(box, "claude-code")
    assert await claude.text("Bash", command="cd src && X=1 && export X && ls") == "a.py\nb.txt"
    failed = await claude("Bash", command="pwd; echo $X; cat no 2>&1; exit 3")
    assert (failed.kind, failed.is_error, failed.exit_code) == ("exit_code", True, 3)
    assert failed.output == "Exit code 3\n/workspace/src\n\ncat: no: No such file or directory"
    slow = await claude("Bash", command="sleep 99", timeout=300)
    assert (slow.kind, slow.is_error) == ("timeout", True)
    assert (await claude("Bash", command="sleep 9", run_in_background=True)).kind == "not_executable_here"
    assert (
        await claude("Nope")
    ).output == "<tool_use_error>Error: No such tool available: Nope</tool_use_error>"


@pytest.mark.sandbox
async def test_results_name_paths_as_the_recording_does(box):
    claude = Session(box, "claude-code", {"/Users/me/app": "/workspace"})
    assert await claude.text("Glob", pattern="**/*.py") == "/Users/me/app/src/a.py"
    assert await claude.text("Bash", command="cd /Users/me/app/src && pwd") == "/Users/me/app/src"
    assert await claude.text("Read", file_path="/Users/me/app/src/b.txt", limit=1) == "     1→alpha"


@pytest.mark.sandbox
async def test_codex_commands(box):
    codex = Session(box, "codex")
    done = await codex("exec_command", cmd="echo hi; exit 2", workdir="/workspace/src")
    assert (done.kind, done.exit_code) == ("exit_code", 2)
    lines = done.output.splitlines()
    assert lines[0].startswith("Chunk ID: ")
    assert lines[2:] == ["Process exited with code 2", "Original token count: 1", "Output:", "hi"]
    old = await codex("shell", command=["bash", "-lc", "cat b.txt"], workdir="/workspace/src")
    assert old.output.startswith("Exit code: 0\nWall time: ")
    assert old.output.endswith("seconds\nOutput:\nalpha\nbeta\ngamma\n")


PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def two():
-    return 2
+    return 22
*** Add File: docs/new.md
+# New
+text
*** Delete File: empty
*** Update File: src/b.txt
*** Move to: src/c.txt
@@
 alpha
-beta
+BETA
 gamma
*** End Patch"""


@pytest.mark.sandbox
@pytest.mark.parametrize("form", ["freeform", "heredoc", "program"])
async def test_codex_patches(box, form):
    codex = Session(box, "codex")
    if form == "freeform":
        call = ToolCallItem(id=0, call_id="c", name="apply_patch", arguments=PATCH, freeform=True)
        done = await codex.executor.execute(call)
    elif form == "heredoc":
        done = await codex("exec_command", cmd=f"apply_patch <<'EOF'\n{PATCH}\nEOF")
    else:
        done = await codex("shell", command=["apply_patch", PATCH])
    assert done.kind == "ok", done
    assert done.output.endswith(
        "Success. Updated the following files:\nM src/a.py\nA docs/new.md\nD empty\nM src/c.txt\n"
    )
    assert (await box.read_file("src/a.py")).endswith(b"def two():\n    return 22\n")
    assert await box.read_file("docs/new.md") == b"# New\ntext\n"
    assert await box.read_file("src/c.txt") == b"alpha\nBETA\ngamma\n"
    assert await box.kind("empty") is await box.kind("src/b.txt") is None


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("nonsense", "The first line of the patch must be"),
        ("*** Begin Patch\n*** Update File: src/a.py\n", "The last line of the patch must be"),
        (
            "*** Begin Patch\n*** Update File: no.py\n@@\n-a\n+b\n*** End Patch",
            "Failed to read file to update no.py",
        ),
        (
            "*** Begin Patch\n*** Update File: src/a.py\n@@\n-absent\n+b\n*** End Patch",
            "Failed to find expected lines",
        ),
        ("*** Begin Patch\nstray\n*** End Patch", "not a valid hunk header"),
    ],
)
async def test_codex_says_what_is_wrong_with_a_patch_and_changes_nothing(box, patch, said):
    codex = Session(box, "codex")
    done = await codex("apply_patch", input=patch)
    assert (done.kind, done.is_error) == ("tool_error", True)
    assert said in done.output
    assert await box.read_file("src/a.py") == FILES["src/a.py"].encode()


@pytest.mark.sandbox
async def test_mini_swe_agent(box):
    mini = Session(box, "mini-swe-agent")
    done = await mini("bash", command="cat src/b.txt; exit 1")
    assert done.output == "<returncode>1</returncode>\n<output>\nalpha\nbeta\ngamma\n</output>"


@pytest.mark.sandbox
async def test_openhands(box):
    hands = Session(box, "openhands")
    first = await hands.text("execute_bash", command="cd src; export MINE=yes; ls")
    second = await hands.text("execute_bash", command="echo $MINE; pwd; false")
    assert first == "a.py\nb.txt\n[The command completed with exit code 0.]"
    assert second == "yes\n/workspace/src\n[The command completed with exit code 1.]"
    path = "/workspace/src/b.txt"
    view = await hands.text("str_replace_editor", command="view", path=path, view_range=[2, 3])
    assert view == f"Here's the result of running `cat -n` on {path}:\n     2\tbeta\n     3\tgamma\n"
    await hands.text("str_replace_editor", command="str_replace", path=path, old_str="beta", new_str="b")
    await hands.text("str_replace_editor", command="insert", path=path, insert_line=1, new_str="x")
    assert await box.read_file("src/b.txt") == b"alpha\nx\nb\ngamma\n"
    await hands.text("str_replace_editor", command="undo_edit", path=path)
    await hands.text("str_replace_editor", command="undo_edit", path=path)
    assert await box.read_file("src/b.txt") == b"alpha\nbeta\ngamma\n"
    missing = await hands("str_replace_editor", command="str_replace", path=path, old_str="zeta", new_str="b")
    assert (
        missing.output == f"No replacement was performed, old_str `zeta` did not appear verbatim in {path}."
    )
    again = await hands("str_replace_editor", command="create", path=path, file_text="x")
    assert again.kind == "tool_error"
    tree = await hands.text("str_replace_editor", command="view", path="/workspace")
    assert tree.endswith(
        "/workspace\n/workspace/empty\n/workspace/src\n/workspace/src/a.py\n/workspace/src/b.txt\n"
    )


@pytest.mark.sandbox
async def test_swe_agent_has_a_window(box):
    swe = Session(box, "swe-agent")
    await box.write_file("long.txt", "".join(f"line {n}\n" for n in range(1, 301)).encode())
    opened = await swe.text("open", path="long.txt", line_number=150)
    down = await swe.text("scroll_down")
    lines = opened.splitlines()
    assert lines[:3] == [
        "[File: /workspace/long.txt (300 lines total)]",
        "(99 more lines above)",
        "100:line 100",
    ]
    assert lines[-1] == "(101 more lines below)"
    assert "200:line 200" in down
    edited = await swe.text("edit", start_line=250, end_line=251, replacement_text="new\n")
    assert "250:new\n251:line 252" in edited
    assert (await swe("edit", start_line=999, end_line=1000, replacement_text="x")).kind == "tool_error"
    assert await swe.text("find_file", file_name="*.py") == (
        'Found 1 matches for "*.py" in /workspace:\n/workspace/src/a.py'
    )
    assert "/workspace/src/a.py (2 matches)" in await swe.text("search_dir", search_term="return")
    assert "Line 5:    return 1" in await swe.text("search_file", search_term="return", file="src/a.py")
    assert (await swe.text("create", filename="made.py")).startswith(
        "[File: /workspace/made.py (1 lines total)]"
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("kit", KITS)
async def test_every_tool_of_every_kit_ends_in_an_outcome_whatever_it_is_given(box, kit):
    session = Session(box, kit)
    for tool in load(kit).tools:
        for arguments in ({}, {"path": 1}, {name: None for name in tool.parameters.get("properties", {})},
                          {name: ["x"] for name in tool.parameters.get("properties", {})},
                          {name: "\0\ud800" for name in tool.parameters.get("properties", {})}):  # fmt: skip
            call = ToolCall(0, "c", tool.name, json.dumps(arguments))
            done = await session.executor.execute(call)
            assert isinstance(done.output, str)
            done.output.encode()


def test_lines_are_found_wherever_they_stand():
    assert find_lines(["a", "b", "a", "b"], ["a", "b"]) == [0, 2]
    assert find_lines(["a", "b", "a", "b"], ["a", "b"], 1) == [2]
    assert find_lines(["a", "a", "a"], ["a", "a"]) == [0, 1]
    assert find_lines(["ab"], ["a"]) == []
    many = ["x"] * 100_000
    assert len(find_lines(many, ["x"] * 50_000 + ["y"])) == 0


def test_a_difference_is_shown_with_its_rows_and_never_takes_long():
    for lines in (100, 9000):
        before = "".join(f"{n}\n" for n in range(lines))
        assert unified(before, before.replace("\n50\n", "\nfifty\n")) == (
            "@@ -48,7 +48,7 @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53\n"
        )
    assert unified("", "a\n") == "@@ -0,0 +1 @@\n+a\n"
    assert unified("a", "b") == "@@ -1 +1 @@\n-a\n+b\n"
    old = [f"{n}\n" for n in range(20_000)]
    assert unified("".join(old), "".join(reversed(old))).startswith("@@ -1,20000 +1,20000 @@\n")
