"""Calls of real clients' tools, executed in a real sandbox."""

import json

import pytest

from replayer.tools.execution import Executor
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import Limits
from replayer.tools.sandbox.workspace import Workspace
from replayer.tools.toolsets import load
from replayer.traces.schema import ToolCallItem
from replayer.wire.types import ToolCall

pytestmark = pytest.mark.sandbox

FILES = {
    "app/main.py": "import os\n\n\ndef greet(name):\n    return f'Hello {name}'\n\n\nprint(greet('you'))\n",
    "app/util.py": "def add(a, b):\n    return a + b\n",
    "README.md": "# App\n\nGreets.\n",
}


class Zed:
    """A Zed session over FILES: `await zed("read_file", path=…)` gives the outcome."""

    def __init__(self, box, kit="zed", path_map=None):
        self.box = box
        self.executor = Executor(box, load(kit), path_map)

    async def __call__(self, tool, **arguments):
        return await self.executor.execute(ToolCall(0, "c1", tool, json.dumps(arguments)))


@pytest.fixture
async def zed():
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        yield Zed(box)


async def test_read_file(zed):
    whole = await zed("read_file", path="workspace/app/util.py")
    part = await zed("read_file", path="app/main.py", start_line=4, end_line=5)
    missing = await zed("read_file", path="app/none.py")
    folder = await zed("read_file", path="app")
    assert (whole.kind, whole.output) == ("ok", "     1\tdef add(a, b):\n     2\t    return a + b\n")
    assert part.output == "     4\tdef greet(name):\n     5\t    return f'Hello {name}'\n"
    assert (missing.kind, missing.output, missing.is_error) == ("tool_error", "app/none.py not found", True)
    assert folder.output.startswith("app is a directory, not a file.")


async def test_older_zed_reads_without_line_numbers(zed):
    old = Zed(zed.box, "zed-2026-04")
    assert (await old("read_file", path="README.md")).output == "# App\n\nGreets.\n"


async def test_a_large_file_is_answered_by_its_outline(zed):
    source = "class Big:\n" + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(800))
    await zed.box.write_file("big.py", source.encode())
    outline = await zed("read_file", path="big.py")
    ranged = await zed("read_file", path="big.py", start_line=2, end_line=2)
    assert outline.kind == "ok"
    assert "class Big [L1-2400]\n def m0 [L2-3]\n def m1 [L5-6]\n" in outline.output
    assert ranged.output == "     2\t    def m0(self):\n"


async def test_edit_file_replaces_exactly_one_place(zed):
    done = await zed("edit_file", path="app/util.py", edits=[{"old_text": "a + b", "new_text": "b + a"}])
    text = json.dumps([{"old_text": "return b + a", "new_text": "return a + b"}])
    as_text = await zed("edit_file", path="app/util.py", edits=text)
    assert (done.kind, done.output) == ("ok", "Edited app/util.py successfully")
    assert as_text.kind == "ok"
    assert await zed.box.read_file("app/util.py") == FILES["app/util.py"].encode()


async def test_edit_file_forgives_indentation_only(zed):
    await zed(
        "edit_file",
        path="app/util.py",
        edits=[{"old_text": "return a + b", "new_text": "c = a + b\nreturn c"}],
    )
    shifted = [{"old_text": "c = a + b\n  return c", "new_text": "return a + b"}]
    await zed("edit_file", path="app/util.py", edits=shifted)
    assert await zed.box.read_file("app/util.py") == b"def add(a, b):\n    return a + b\n"


async def test_edit_file_says_what_it_could_not_do_and_keeps_what_it_did(zed):
    edits = [{"old_text": "Greets.", "new_text": "Says hello."}, {"old_text": "absent", "new_text": "x"}]
    half = await zed("edit_file", path="README.md", edits=edits)
    twice = await zed("edit_file", path="app/main.py", edits=[{"old_text": "greet", "new_text": "x"}])
    assert (half.kind, half.is_error) == ("tool_error", True)
    assert half.output.startswith("Could not find matching text for edit at index 1.")
    assert "-Greets.\n+Says hello.\n" in half.output
    assert "matched multiple locations in the file at lines: 4, 8" in twice.output
    assert twice.output.endswith("No edits were made.")


async def test_april_zed_writes_and_shows_the_difference(zed):
    old = Zed(zed.box, "zed-2026-04")
    done = await old("edit_file", display_description="d", path="new/f.txt", mode="write", content="one\n")
    edit = [{"old_text": "one", "new_text": "two"}]
    changed = await old("edit_file", display_description="d", path="new/f.txt", mode="edit", edits=edit)
    assert done.output == "Edited new/f.txt:\n\n```diff\n@@ -0,0 +1 @@\n+one\n\n```"
    assert changed.output == "Edited new/f.txt:\n\n```diff\n@@ -1 +1 @@\n-one\n+two\n\n```"


async def test_terminal(zed):
    fine = await zed("terminal", command="python3 main.py", cd="app")
    fails = await zed("terminal", command="echo no; exit 4", cd="workspace")
    silent = await zed("terminal", command="true", cd=".")
    slow = await zed("terminal", command="echo begun; sleep 300", cd=".", timeout_ms=300)
    if "begun" not in slow.output:  # the machine was too busy to begin in that time
        slow = await zed("terminal", command="echo begun; sleep 300", cd=".", timeout_ms=60_000)
    lost = await zed("terminal", command="true", cd="elsewhere")
    assert (fine.kind, fine.output) == ("ok", "```\nHello you\n```")
    assert (fails.kind, fails.exit_code) == ("exit_code", 4)
    assert fails.output == 'Command "echo no; exit 4" failed with exit code 4.\n\n```\nno\n```'
    assert silent.output == "Command executed successfully."
    assert slow.kind == "timeout"
    assert slow.output == (
        'Command "echo begun; sleep 300" timed out. Output captured before timeout:\n\n```\nbegun\n```'
    )
    assert lost.kind == "tool_error"


async def test_terminal_shows_the_first_16_kib_in_whole_lines(zed):
    done = await zed("terminal", command="seq 100000", cd=".")
    assert done.output.startswith("Command output too long. The first ")
    assert len(done.output) < 17_000
    assert done.output.endswith("\n```")


async def test_grep(zed):
    found = await zed("grep", regex="GREET", include_pattern="**/*.py")
    exact = await zed("grep", regex="GREET", case_sensitive=True)
    bad = await zed("grep", regex="(")
    assert found.output == (
        "Found 1 matches:\n\n## Matches in app/main.py\n\n### L2-8\n```\n"
        "\n\ndef greet(name):\n    return f'Hello {name}'\n\n\nprint(greet('you'))\n```\n"
    )
    assert exact.output == "No matches found"
    assert (bad.kind, bad.is_error) == ("tool_error", True)


async def test_grep_has_pages(zed):
    await zed.box.write_file("many.txt", "".join(f"hit {n}\n" + "-\n" * 6 for n in range(45)).encode())
    first = await zed("grep", regex="hit", include_pattern="many.txt")
    last = await zed("grep", regex="hit", include_pattern="workspace/many.txt", offset=40)
    assert first.output.startswith("Showing matches 1-20 (there were more matches found; use offset: 20")
    assert last.output.startswith("Found 5 matches:\n")


async def test_find_path_and_list_directory(zed):
    found = await zed("find_path", glob="**/*.py")
    none = await zed("find_path", glob="*.rs")
    listed = await zed("list_directory", path="workspace")
    inner = await zed("list_directory", path="app")
    wrong = await zed("list_directory", path="nope")
    assert found.output == "Found 2 total matches.\n/workspace/app/main.py\n/workspace/app/util.py"
    assert none.output == "No matches found"
    assert listed.output == "# Folders:\napp\n\n# Files:\nREADME.md\n"
    assert inner.output == "\n# Files:\napp/main.py\napp/util.py\n"
    assert wrong.kind == "tool_error"


async def test_paths_are_copied_moved_made_and_deleted(zed):
    assert (await zed("copy_path", source_path="app", destination_path="app2")).kind == "ok"
    assert (await zed("move_path", source_path="app2/util.py", destination_path="lib/util.py")).kind == "ok"
    assert (await zed("create_directory", path="empty/deep")).output == "Created directory empty/deep"
    assert (await zed("delete_path", path="app")).output == "Deleted app"
    found = await zed("find_path", glob="**/*")
    assert found.output.splitlines()[1:] == [
        f"/workspace/{name}"
        for name in ("README.md", "app2", "app2/main.py", "empty", "empty/deep", "lib", "lib/util.py")
    ]


async def test_diagnostics_know_python_syntax(zed):
    assert (await zed("diagnostics")).output == "No errors or warnings found in the project."
    await zed("write_file", path="app/util.py", content="def add(a, b:\n    return 1\n")
    assert (await zed("diagnostics")).output == "app/util.py: 1 error(s), 0 warning(s)"
    assert (await zed("diagnostics", path="app/util.py")).output.startswith("error at line 1: ")
    assert (await zed("diagnostics", path="README.md")).kind == "not_executable_here"


@pytest.mark.parametrize(
    ("regex", "rows"),
    [
        (r"alpha\s+beta", [0]),  # a line at a time, as long as the pattern itself holds no line break
        (r"alpha\nbeta", [1, 2]),
        ("(?<greek>gamma)$", [3]),
        (r"^[[:upper:]A-Z]\w+\z", []),
        (r"^\p{Lu}\p{Ll}+\z", [4]),
        (r"x(?i)YZ|\x{3b1}", [5, 6]),
        (r"func main\(\) {", [7]),
        (r"\<beta\>", [0, 2]),
    ],
)
async def test_grep_reads_patterns_as_rust_does(zed, regex, rows):
    await zed.box.write_file(
        "t.txt", "alpha beta\nalpha\nbeta\ngamma\nÄrger\nxyz\nα\nfunc main() {\n".encode()
    )
    found, _ = await zed.box.grep(
        "t.txt", seconds=60, regex=regex, globs=[], limit=99, case_sensitive=True, before=0, after=0, skip=0
    )
    assert [row for _, blocks in found for _, _, hits in blocks for row in hits] == rows
    wrong = await zed("grep", regex="(unclosed", include_pattern="t.txt")
    assert wrong.kind == "tool_error"


async def test_what_a_sandbox_cannot_do_is_counted_not_faked(zed):
    assert (await zed("fetch", url="https://example.com")).kind == "not_executable_here"
    assert (await zed("spawn_agent", label="l", message="m")).kind == "not_executable_here"
    assert (await zed("mcp_thing")).output == "No tool named mcp_thing exists"
    broken = await zed.executor.execute(ToolCall(0, "c", "read_file", '{"path": '))
    assert (broken.kind, broken.is_error) == ("tool_error", True)
    assert broken.output.startswith("Error parsing input JSON: ")
    listed = await zed.executor.execute(ToolCallItem(id=1, call_id="c", name="read_file", arguments="[1]"))
    assert listed.output == "Error parsing input JSON: expected an object"


async def test_denied_and_full_are_kinds_of_their_own():
    limits = Limits(workspace=1 << 20)
    async with await Sandbox.start(Workspace.from_files(FILES), limits=limits) as box:
        zed = Zed(box)
        assert (await zed("write_file", path="/usr/bin/evil", content="x")).kind == "denied"
        assert (await zed("write_file", path="big", content="x" * (2 << 20))).kind == "limit"


async def test_paths_of_the_recording_are_mapped_in_arguments_and_commands():
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        zed = Zed(box, path_map={"/Users/me/proj": "/workspace", "proj": "/workspace"})
        read = await zed("read_file", path="/Users/me/proj/README.md")
        short = await zed("read_file", path="proj/README.md")
        ran = await zed(
            "terminal", command="cat /Users/me/proj/README.md /Users/me/project 2>&1", cd="/Users/me/proj"
        )
    assert read.kind == short.kind == "ok"
    assert "# App" in ran.output
    assert "/Users/me/project: No such file" in ran.output


async def test_a_search_that_never_ends_is_ended(zed):
    await zed.box.write_file("a.txt", b"a" * 40 + b"!")
    zed.executor.client.search_seconds = 0.5
    done = await zed("grep", regex="(a+)+$")
    assert done.kind == "timeout"
    assert (await zed("read_file", path="README.md")).kind == "ok"


async def test_an_edit_keeps_what_it_does_not_touch_byte_for_byte(zed):
    await zed.box.write_file("old.txt", b"caf\xe9\r\nsecond\r\nthird\r\n")
    done = await zed(
        "edit_file", path="old.txt", edits=[{"old_text": "second\nthird", "new_text": "2nd\n3rd"}]
    )
    read = await zed("read_file", path="old.txt")
    assert done.kind == "ok"
    assert await zed.box.read_file("old.txt") == b"caf\xe9\r\n2nd\r\n3rd\r\n"
    assert "caf\ufffd" in read.output
