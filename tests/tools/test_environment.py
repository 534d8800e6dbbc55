"""A session's packages: built once, seen by the guest at one place, never writable there."""

import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest

from replayer.errors import MissingPartError, TraceError
from replayer.tools import environment
from replayer.tools.environment import Wanted, prepare
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace

TRACE = Path("t.jsonl")


def test_what_a_trace_may_ask_for():
    assert Wanted.from_trace(None, TRACE) is None
    assert Wanted.from_trace("python", TRACE) is None
    given = {"name": "web", "python": "3.11", "packages": ["django==5.2"]}
    assert Wanted.from_trace(given, TRACE) == Wanted("web", ("django==5.2",), "3.11")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"packages": []}, "needs a name"),
        (["django"], "needs a name"),
        ({"name": "x", "packages": ["django"]}, "must pin 'django'"),
        ({"name": "x", "packages": ["--index-url=http://evil==1"]}, "must pin"),
        ({"name": "x", "packages": ["evil @ file:///tmp/x==1"]}, "must pin"),
        ({"name": "x", "python": "../../bin/sh"}, "is no Python version"),
    ],
)
def test_what_it_may_not(given, said):
    with pytest.raises(TraceError, match=said):
        Wanted.from_trace(given, TRACE)


@pytest.fixture
def shelf(monkeypatch):
    """A cache of its own that every user may read, and a package index that is a folder."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="replayer-test-"))
    folder.chmod(0o755)
    monkeypatch.setattr(environment, "cache_folder", lambda: folder)
    with zipfile.ZipFile(folder / "greeter-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("greeter.py", "def main():\n    print('hello from greeter')\n")
        wheel.writestr(
            "greeter-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n"
        )
        wheel.writestr(
            "greeter-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("greeter-1.0.dist-info/entry_points.txt", "[console_scripts]\ngreet = greeter:main\n")
        wheel.writestr("greeter-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.sandbox
async def test_packages_are_there_at_one_place_and_cannot_be_changed(shelf):
    wanted = Wanted("greeting", ("greeter==1.0",))
    made = prepare(wanted)
    stamp = os.stat(made.path).st_mtime_ns
    async with await Sandbox.start(Workspace.empty(), environment=made) as box:
        ran = await box.run(
            ["/bin/bash", "-c", "greet; python -c 'import sys, greeter; print(sys.prefix, greeter.__file__)'"]
        )
        spoiled = await box.run(
            ["/bin/bash", "-c", "echo x >> $(python -c 'import greeter; print(greeter.__file__)')"]
        )
    assert ran.output.startswith("hello from greeter\n/opt/env /opt/env/lib/python3")
    assert str(shelf) not in ran.output
    assert spoiled.exit_code == 1
    assert "Read-only" in spoiled.output or "Permission denied" in spoiled.output
    assert prepare(wanted).path == made.path
    assert os.stat(made.path).st_mtime_ns == stamp, "the second time it comes from the cache"


@pytest.mark.sandbox
def test_what_cannot_be_built_is_one_sentence_and_leaves_nothing(shelf):
    before = sorted(shelf.iterdir())
    with pytest.raises(MissingPartError, match=r"environment e cannot be built: .*absent"):
        prepare(Wanted("e", ("absent==9",)))
    with pytest.raises(MissingPartError, match=r"needs /usr/bin/python2\.4"):
        prepare(Wanted("e", (), "2.4"))
    assert sorted(shelf.iterdir()) == before


@pytest.mark.sandbox
async def test_a_weaker_isolation_has_the_packages_too(shelf):
    made = prepare(Wanted("greeting", ("greeter==1.0",)))
    async with await Sandbox.start(Workspace.empty(), environment=made, backend="landlock") as box:
        ran = await box.run(["python", "-c", "import greeter; greeter.main()"])
    assert ran.output == "hello from greeter\n"
