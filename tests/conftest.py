"""Shared fixtures, and the rule that nothing is skipped in CI."""

import os

import pytest


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
