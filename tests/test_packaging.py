"""Wheel, sdist and a plain copy of the tree hold the same package under one import root."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import replayer

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
NEEDED = [
    "replayer/traces/recorded/fix-failing-test/trace.jsonl",
    "replayer/traces/recorded/fix-failing-test/workspace.tar",
    "replayer/tools/toolsets/zed.json",
    "replayer/plans/throughput-ramp.toml",
    "replayer/tui/app.py",
    "replayer/engines/embedded/tools.jinja",
    "replayer/py.typed",
]


def copy_of_tree(target: Path) -> Path:
    """What a clone is: links and all, nothing that was built."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "runs", ".hypothesis")
    shutil.copytree(ROOT, target, symlinks=True, ignore=ignored)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = copy_of_tree(tmp_path_factory.mktemp("tree") / "copy")
    target = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=tree, check=True)
    return target


def version_from(folder: Path) -> str:
    code = "import replayer.cli, sys; sys.exit(replayer.cli.main(['--version']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.stdout.strip() or done.stderr


def test_the_wheel_owns_only_replayer_and_runs(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"replayer", "agent_replayer"}
    assert [name for name in NEEDED if name not in names] == []
    assert version_from(tmp_path) == f"replayer {replayer.__version__}"


def test_the_sdist_holds_the_package_whole(built: Path, tmp_path: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        sdist.extractall(tmp_path, filter="data")
    folder = next(tmp_path.iterdir())
    needed = [*NEEDED, "tests/conftest.py", "tests/report/test_html.py"]
    assert [name for name in needed if not (folder / name).is_file()] == []
    assert version_from(folder) == f"replayer {replayer.__version__}"


def test_a_plain_copy_of_the_tree_runs(tmp_path: Path) -> None:
    assert version_from(copy_of_tree(tmp_path / "copy")) == f"replayer {replayer.__version__}"


def test_a_checkout_without_links_says_so_in_one_sentence(tmp_path: Path) -> None:
    tree = copy_of_tree(tmp_path / "copy")
    (tree / "replayer" / "tools").unlink()
    (tree / "replayer" / "tools").write_text("../tools")
    last = version_from(tree).splitlines()[-1]
    assert "replayer/tools is a text file, not a link" in last
