"""`watch --web`: the screen in a browser, for runs on hosts without one at hand; and the report of the run as it stands.

Only this machine is listened on (a tunnel brings it elsewhere), and only who has the token of the address sees anything: a
port of a shared host is open to all its users, and to pages that a browser there shows.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

from replayer.journal.log import writer_pid
from replayer.launch.job import stop
from replayer.traces.recorder_guard import refusal
from replayer.tui.pages import REPORTS

_HOST = "127.0.0.1"
_REFRESH_S = 15
"""Seconds after which the report of a run that goes on is asked for again."""
_POLICY = "default-src 'self' 'unsafe-inline' data:; connect-src 'self'; frame-ancestors 'none'"
"""Nothing is asked of another host. The report brings a stricter one of its own."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebScreen(Server):
    """A process of the screen for each page that is open."""

    def __init__(self, folders: Sequence[Path], port: int) -> None:
        command = shlex.join([sys.executable, "-m", "replayer.launch.web", *map(str, folders)])
        super().__init__(command, _HOST, port, title="replayer")
        self._folders = folders
        self._token = secrets.token_urlsafe(24)
        self._cookie = f"replayer-{port}"

    @property
    def address(self) -> str:
        return f"{self.public_url}/?token={self._token}"

    async def on_startup(self, app: web.Application) -> None:
        print(f"screen: {self.address}\nreport: {self.public_url}/report?token={self._token}", flush=True)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app.middlewares.append(guard)
        app.router.add_get("/report", self._report)
        return app

    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        fields = {name.lower().encode(): value.encode() for name, value in request.headers.items()}
        if reason := refusal(fields, _HOST):
            raise web.HTTPForbidden(text=reason)
        given = request.query.get("token") or request.cookies.get(self._cookie, "")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            raise web.HTTPForbidden(
                text="this address needs its token: open the one that `replayer watch --web` printed"
            )
        response = await handler(request)
        if not response.prepared:
            response.headers.setdefault("Content-Security-Policy", _POLICY)
            response.headers["Referrer-Policy"] = "no-referrer"
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict")
        return response

    async def _report(self, _: web.Request) -> web.StreamResponse:
        """As `replayer report --html` writes it, of this moment."""
        page = await asyncio.to_thread(REPORTS["html"], self._folders)
        going_on = any(writer_pid(folder) is not None for folder in self._folders)
        headers = {"Refresh": str(_REFRESH_S)} if going_on else {}
        headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        text = page if isinstance(page, str) else page.decode()
        return web.Response(text=text, content_type="text/html", headers=headers)


def serve(folders: Sequence[Path], port: int) -> None:
    """Until Ctrl-C. `port` 0 is a free one. It is listened on before its address is printed."""
    with socket.create_server((_HOST, port)) as listening:
        screen = WebScreen([folder.absolute() for folder in folders], listening.getsockname()[1])
        web.run_app(
            screen._make_app(), sock=listening, print=None, access_log=None
        )  # requests hold the token


def _in_browser(folders: list[Path]) -> None:
    """The screen that textual-serve starts: its terminal is a pipe to the page."""
    from replayer.tui.app import ReplayerApp
    from replayer.tui.rest import Rest
    from replayer.tui.source import Sources
    from replayer.tui.watch import settled_memory

    pins: dict[str, str] = {}
    rest = Rest()
    if ReplayerApp(settled_memory(Sources(folders, pins, rest).poll), folders, pins, rest).run() == "stop":
        for folder in folders:
            stop(folder)


if __name__ == "__main__":
    _in_browser([Path(word) for word in sys.argv[1:]])
