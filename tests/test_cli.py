"""The command line as a user meets it."""

import subprocess
import sys

import replayer


def test_version_names_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "replayer", "--version"], capture_output=True, text=True)
    assert done.stdout == f"replayer {replayer.__version__}\n"


def test_a_fault_of_our_own_is_told_apart_from_a_limit_that_was_broken() -> None:
    """`gate` and `bisect` would take exit code 1 for a worse engine."""
    faulty = "\n".join(
        [
            "import sys, types",
            "from replayer import cli",
            "module = types.ModuleType('replayer.commands.faulty', 'Fails.')",
            "module.__spec__ = cli.__spec__",
            "def run(args): raise KeyError('gone')",
            "module.configure, module.run = lambda parser: None, run",
            "sys.modules[module.__name__], cli.COMMANDS['faulty'] = module, 'fails'",
            "sys.exit(cli.main(['faulty']))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", faulty], capture_output=True, text=True)
    assert done.returncode == 70
    assert "KeyError: 'gone'" in done.stderr and "fault of replayer's own" in done.stderr
