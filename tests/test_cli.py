"""The command line as a user meets it."""

import subprocess
import sys

import replayer


def test_version_names_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "replayer", "--version"], capture_output=True, text=True)
    assert done.stdout == f"replayer {replayer.__version__}\n"
