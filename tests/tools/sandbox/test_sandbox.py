"""What a sandbox does for the runner, on real isolation."""

import asyncio
import threading

import pytest

from replayer.errors import PlanError
from replayer.tools.sandbox.bubblewrap import Bubblewrap
from replayer.tools.sandbox.probe import probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import FileError, Limits, SandboxLost
from replayer.tools.sandbox.workspace import Workspace

pytestmark = pytest.mark.sandbox

FILES = {"a.txt": "hello\n", "src/b.py": "print(1)\n"}


async def test_the_strongest_isolation_of_linux_passes_its_self_test():
    graded = probe()
    assert (graded.backend, graded.grade, graded.reason) == ("bubblewrap", "full", "")
    assert all(check.held for check in graded.checks)


async def test_commands_run_in_the_workspace_with_an_environment_that_is_made_not_inherited(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        ran = await box.run(["/bin/bash", "-c", "pwd; cat a.txt; env; exit 3"])
    assert ran.exit_code == 3
    assert ran.output.startswith("/workspace\nhello\n")
    assert "s3cret" not in ran.output
    assert "TZ=UTC\n" in ran.output


async def test_both_ends_of_a_long_output_are_kept():
    async with await Sandbox.start(Workspace.empty(), limits=Limits(output_kept=1000)) as box:
        ran = await box.run(["/bin/bash", "-c", "echo first; seq 100000; echo last"])
    assert ran.exit_code == 0
    assert ran.output.startswith("first\n1\n2\n")
    assert ran.output.endswith("100000\nlast\n")
    assert len(ran.head) + len(ran.tail) == 1000
    assert f"{ran.dropped} bytes not kept" in ran.output


@pytest.mark.parametrize(
    ("command", "kind"),
    [("sleep 60", "time"), ("yes", "output"), ("trap '' TERM; kill -STOP $$", "time")],
)
async def test_a_command_that_breaks_a_limit_is_ended(command, kind):
    async with await Sandbox.start(Workspace.empty()) as box:
        ran = await box.run(["/bin/bash", "-c", command], timeout=0.5 if kind == "time" else 60)
        after = await box.run(["/bin/echo", "still here"])
    assert (ran.limit, ran.timed_out, ran.exit_code) == (kind, kind == "time", None)
    assert after.output == "still here\n"


async def test_a_program_that_is_not_there_is_a_result():
    async with await Sandbox.start(Workspace.empty()) as box:
        missing = await box.run(["no-such-program"])
        nowhere = await box.run(["/bin/true"], cwd="no/such/folder")
    assert (missing.exit_code, missing.output) == (127, "no-such-program: command not found\n")
    assert nowhere.exit_code == 1
    assert "no/such/folder" in nowhere.output


async def test_file_tools():
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        assert await box.read_file("a.txt") == b"hello\n"
        assert await box.write_file("new/deep/c.bin", b"\0\xff") is True
        assert await box.write_file("new/deep/c.bin", b"\0") is False
        await box.copy("new", "copied")
        await box.move("src/b.py", "moved.py")
        await box.remove("new")
        assert await box.list() == [
            ("a.txt", "file"),
            ("copied", "directory"),
            ("moved.py", "file"),
            ("src", "directory"),
        ]
        assert await box.kind("nothing") is None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("none", "not_found"),
        ("src", "is_a_directory"),
        ("a.txt/x", "not_a_directory"),
        ("/usr/bin/x", "denied"),
    ],
)
async def test_what_a_file_tool_cannot_do_has_a_kind(path, kind):
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        with pytest.raises(FileError) as refused:
            await (box.write_file(path, b"") if kind == "denied" else box.read_file(path))
    assert refused.value.kind == kind


async def test_a_restore_undoes_everything_whatever_was_done():
    done = """
    rm a.txt; echo other > src/b.py; touch -d @1700000000 src/b.py; mkdir -p x/y; echo z > x/y/z
    ln -s /etc/passwd link; mkfifo fifo; echo t > $'bad\\xff\\nname'; chmod 000 src; mkdir locked; chmod 0 locked
    """
    deep = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        listing = ["/bin/bash", "-c", "find . -printf '%P %y %m %T@ %l\\n' | sort; cat src/b.py"]
        before = await box.run(listing)
        await box.run(["/bin/bash", "-c", done])
        await box.run(["/usr/bin/python3", "-c", deep])
        await box.restore()
        after = await box.run(listing)
    assert after == after.__class__(**{**_fields(before), "duration": after.duration})


def _fields(ran):
    return {name: getattr(ran, name) for name in ran.__slots__}


async def test_a_snapshot_can_be_put_back_in_another_sandbox_of_the_same_workspace():
    workspace = Workspace.from_files(FILES)
    async with await Sandbox.start(workspace) as box:
        await box.run(
            ["/bin/bash", "-c", "rm a.txt; echo 2 > src/b.py; chmod +x src/b.py; ln -s b.py src/l; mkdir e"]
        )
        snapshot = await box.snapshot()
    async with await Sandbox.start(workspace) as box:
        await box.restore(snapshot)
        seen = await box.run(["/bin/bash", "-c", "ls -R; cat src/l; test -x src/b.py && echo x"])
        await box.restore()
        assert await box.read_file("a.txt") == b"hello\n"
    assert seen.output == ".:\ne\nsrc\n\n./e:\n\n./src:\nb.py\nl\n2\nx\n"


async def test_a_workspace_that_wants_a_repository_has_one_commit_and_keeps_it():
    async with await Sandbox.start(Workspace.from_files(FILES, git=True)) as box:
        first = await box.run(["git", "rev-parse", "HEAD"])
        await box.run(["/bin/bash", "-c", "echo x > a.txt; git commit -qam second; rm -rf .git/refs"])
        await box.restore()
        again = await box.run(["/bin/bash", "-c", "git rev-parse HEAD; git status --porcelain"])
    assert first.exit_code == 0
    assert again.output == first.output


async def test_two_sandboxes_see_the_same_thing():
    shown = []
    script = "ls -la --time-style=+%s; find . | head; echo $$; git log; python3 -c 'print(hash(str(1)), id(object()))'"
    for _ in range(2):
        async with await Sandbox.start(Workspace.from_files(FILES, git=True)) as box:
            shown.append((await box.run(["/bin/bash", "-c", script])).output)
    first, second = (
        "\n".join(line for line in text.splitlines() if not line.endswith((" .", " ..", ".git")))
        for text in shown
    )
    assert first == second


async def test_an_unknown_sandbox_is_named():
    with pytest.raises(PlanError, match="no sandbox named 'chroot'"):
        await Sandbox.start(Workspace.empty(), backend="chroot")


def test_a_sandbox_outlives_the_thread_that_asked_for_it():
    """The kernel would end it with the thread that started it, were that not one that stays."""
    loop = asyncio.new_event_loop()
    made = []
    thread = threading.Thread(
        target=lambda: made.append(loop.run_until_complete(Sandbox.start(Workspace.empty())))
    )
    thread.start()
    thread.join()

    async def use():
        async with made[0] as box:
            return await box.run(["/bin/echo", "alive"])

    assert loop.run_until_complete(use()).output == "alive\n"
    loop.close()


async def test_a_start_that_is_cancelled_leaves_nothing(monkeypatch):
    started = []
    asked, go_on = threading.Event(), threading.Event()

    class Slow(Bubblewrap):
        def start(self, room):
            asked.set()
            go_on.wait()
            started.append(super().start(room))
            return started[0]

    task = asyncio.create_task(Sandbox.open(Workspace.empty(), Slow()))
    await asyncio.to_thread(asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    while not started or started[0].process.returncode is None:
        await asyncio.sleep(0.01)


async def test_a_request_that_is_cancelled_ends_the_sandbox():
    async with await Sandbox.start(Workspace.empty()) as box:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box.run(["/bin/sleep", "60"]), 0.1)
        with pytest.raises(SandboxLost):
            await box.read_file("a")


@pytest.mark.parametrize("path", ["\ud800", "a" * 5000, "x/" * 3000, "\udcff\udcfe"])
async def test_a_path_that_no_file_system_has_is_a_result(path):
    async with await Sandbox.start(Workspace.empty()) as box:
        for act in (box.read_file, box.list, box.make_directory, box.remove):
            with pytest.raises(FileError):
                await act(path if path != "\udcff\udcfe" or act != box.make_directory else path * 200)
        assert (await box.run(["/bin/echo", path[:10]])).exit_code in (0, 1)
        assert (await box.run(["/bin/true"], cwd=path)).exit_code == 1
        assert (await box.run(["/bin/echo", "alive"])).output == "alive\n"


async def test_a_snapshot_that_would_be_too_large_is_refused_and_the_sandbox_lives():
    async with await Sandbox.start(Workspace.empty(), limits=Limits(snapshot=4 << 20)) as box:
        await box.run(["/bin/bash", "-c", "head -c 5000000 /dev/urandom > big"])
        with pytest.raises(FileError) as refused:
            await box.snapshot()
        assert refused.value.kind == "too_large"
        await box.restore()
        assert await box.list() == []
        await box.snapshot()


async def test_what_a_shell_remembers_goes_with_the_snapshot():
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        await box.write_file("/tmp/.shell-state", b"cd /workspace/src\n")
        snapshot = await box.snapshot()
        await box.restore()
        assert await box.kind("/tmp/.shell-state") is None
        await box.restore(snapshot)
        assert await box.read_file("/tmp/.shell-state") == b"cd /workspace/src\n"


async def test_a_sandbox_can_be_started_again():
    async with await Sandbox.start(Workspace.from_files(FILES)) as box:
        await box.run(["/bin/rm", "a.txt"])
        await box.restart()
        assert await box.read_file("a.txt") == b"hello\n"
