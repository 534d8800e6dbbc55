"""`watch --web`: the screen and the report for who has the token, and nothing for pages of other sites."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.tui.pictures import Folder

pytestmark = pytest.mark.slow


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    made = Folder(tmp_path / "run", {"a": {}, "b": {}}, turns=2)
    for lane in ("a", "b"):
        made.turn(lane, 0)
        made.turn(lane, 1)
    made.finish("a", "b")
    command = [sys.executable, "-m", "replayer", "watch", str(made.path), "--web"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    ) as process:  # fmt: skip
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
        assert found
        yield found[0]
        process.terminate()


async def test_only_the_token_opens_the_screen_and_the_report(address: str) -> None:
    base, _, token = address.partition("/?token=")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as stranger:
        for path in ("/", "/ws", "/report", "/?token=guess", "/static/js/textual.js"):
            assert (await stranger.get(base + path)).status == 403, path
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as user:
        for foreign in (
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            assert (await user.get(address, headers=foreign)).status == 403, foreign
        page = await user.get(address)
        policy = page.headers["Content-Security-Policy"]
        assert page.status == 200 and "http" not in policy and "frame-ancestors 'none'" in policy
        report = await (await user.get(f"{base}/report")).text()
        assert "What broke?" in report and token not in report
        painted = b""
        async with user.ws_connect(f"{base.replace('http', 'ws')}/ws?width=100&height=30") as screen:
            while b"What broke?" not in painted:
                message = await screen.receive(timeout=60)
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
                painted += message.data if isinstance(message.data, bytes) else message.data.encode()
