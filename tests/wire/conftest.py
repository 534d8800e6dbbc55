"""The client must do the same on both event loops that it may run on."""

import socket
import sys

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stamps of the kernel are tested where the kernel gives any; elsewhere left out, as what only root can show is."""
    about = [item for item in items if item.path.name == "test_stamps.py"]
    if about and not _kernel_stamps():
        items[:] = [item for item in items if item not in about]
        config.hook.pytest_deselected(items=about)


def _kernel_stamps() -> bool:
    """Asked without any code of ours. The first packets of a machine may lack one."""
    if sys.platform != "linux":
        return False
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as reader,
        listener.accept()[0] as writer,
    ):
        reader.setsockopt(socket.SOL_SOCKET, 35, 1)
        for _ in range(200):
            writer.sendall(b"x")
            if reader.recvmsg(1, 64)[1]:
                return True
    return False


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    if request.param:
        pytest.importorskip("uvloop")
    return "asyncio", {"use_uvloop": request.param}
