"""The HTML report: whole, inert, and inside its page, whatever a model wrote."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.report.answers import marked
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.markup import Html, el
from tests.report.runs import hostile_run

WRAPPER = """<!doctype html><title>wrapper</title><script>
async function look(width) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  const loaded = new Promise(resolve => frame.onload = resolve);
  frame.src = "report.html"; document.body.append(frame); await loaded;
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(part => part.open = true);
  return {width, scroll: page.documentElement.scrollWidth, title: page.title, plots: page.querySelectorAll("svg").length,
    empty: [...page.querySelectorAll("svg")].filter(plot => !plot.querySelector("polyline,circle,rect,line.span")).length,
    scripts: page.scripts.length, images: page.images.length};
}
onload = async () => {
  const seen = [await look(1280), await look(400)];
  document.body.textContent = JSON.stringify({seen, ran: window.ran ?? 0});
};
</script><body></body>"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folder on a port of this machine, and the paths asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.browser
def test_hostile_output_neither_runs_nor_loads_nor_overflows(tmp_path: Path) -> None:
    with served(tmp_path) as (address, asked):
        run = hostile_run(tmp_path / "run", address)
        (tmp_path / "report.html").write_text(html_report(gather([run])), "utf-8")
        (tmp_path / "look.html").write_text(WRAPPER, "utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
                   "--virtual-time-budget=10000", "--dump-dom", f"{address}/look.html"]  # fmt: skip
        page = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    found = json.loads(re.search(r"<body>(.*)</body>", page, re.DOTALL)[1])  # type: ignore[index]
    assert found["ran"] == 0
    for seen in found["seen"]:
        assert seen["scroll"] <= seen["width"], seen
        assert (seen["title"], seen["scripts"], seen["images"]) == ("replayer: run", 0, 0)
        assert seen["plots"] >= 7
        assert seen["empty"] == 0
    assert set(asked) <= {"/look.html", "/report.html", "/favicon.ico"}


def test_the_page_holds_no_markup_of_a_model_and_no_control_character(tmp_path: Path) -> None:
    page = html_report(gather([hostile_run(tmp_path / "run", "http://127.0.0.1:9")]))
    assert not re.search(r"<(script|img|iframe|link|object|embed|a|base)\b", page)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "&lt;script&gt;" in page


def test_a_summary_names_what_was_planted(tmp_path: Path) -> None:
    page = html_report(gather([hostile_run(tmp_path / "run", "")]))
    assert "bad answered 6 turns; 0 of 6 turns were usable: 0.0%" in page
    assert "1 repeated itself" in page
    assert "unknown_tool in 6" in page
    assert "good and bad, usable turns: not tested, 1 session of at least 6; " in page
    assert "−100.0 points for bad" in page and "is worse than" not in page


def test_a_collapse_is_marked_copy_by_copy() -> None:
    assert marked("ab<b><b><b>c", 5, 3) == (
        'ab<mark>&lt;b&gt;</mark><mark class="other">&lt;b&gt;</mark><mark>&lt;b&gt;</mark><mark class="other">c</mark>'
    )


@given(st.text(), st.text())
def test_text_never_becomes_markup(words: str, value: str) -> None:
    element = el("p", words, title=value)
    assert isinstance(element, Html)
    assert element.count("<") == 2
    assert element.count('"') == 2
