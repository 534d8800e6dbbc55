"""Shared fixtures, and the rules that keep a run of the tests from depending on where and when it happens."""

import os
import signal
import tempfile
import time

import pytest
from hypothesis import HealthCheck, settings

HERE = "localhost,127.0.0.1,::1"
FIXED = {"TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
LEFT_OUT = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "PYTHONWARNINGS", "REPLAYER_RUNS")

_STATE = tempfile.TemporaryDirectory(prefix="replayer-state-")
"""Where runs with --out are remembered, for all tests."""


def _settle_environment() -> None:
    """What a shell, a desktop or a gateway sets must not decide a test. Tests that want a variable set it themselves."""
    for name in (*LEFT_OUT, *(name for name in os.environ if name.startswith("GIT_"))):
        os.environ.pop(name, None)
    without = ",".join(filter(None, (os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), HERE)))
    os.environ.update(FIXED, NO_PROXY=without, no_proxy=without)
    os.environ["XDG_STATE_HOME"] = _STATE.name
    time.tzset()
    os.umask(0o022)
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # started in a shell's background; what we start inherits it
        signal.signal(signal.SIGINT, signal.default_int_handler)


_settle_environment()

# How fast examples come is the machine's business. In CI the examples are the same each time: new ones are tried on
# a developer's machine, where a failure is found by somebody who can look at it.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("any machine"), derandomize=True, print_blob=True)
settings.load_profile("fixed" if os.environ.get("CI") else "any machine")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What only root can show is another run's business: left out for other users, not skipped."""
    if os.geteuid() == 0:
        return
    for_root = [item for item in items if item.get_closest_marker("root")]
    items[:] = [item for item in items if item not in for_root]
    if for_root:
        config.hook.pytest_deselected(items=for_root)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: a check that did not run must not look like one that passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if skipped and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for report in skipped:
            reporter.write_line(f"skipped, which CI does not allow: {report.nodeid} {report.longrepr}")
