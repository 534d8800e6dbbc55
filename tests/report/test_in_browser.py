"""The HTML report in headless Chromium: hostile text, the table of turns, links, accessibility."""

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

from replayer.report.evidence import gather
from replayer.report.html import html_report
from tests.report.runs import hostile_run

pytestmark = pytest.mark.browser
DARK = "--blink-settings=preferredColorScheme=0"

WRAPPER = """<!doctype html><title>wrapper</title><script>
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
async function load(width, hash = "") {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  const loaded = new Promise(resolve => frame.onload = resolve);
  frame.src = "report.html" + hash; document.body.append(frame); await loaded;
  const page = frame.contentDocument;
  for (let tries = 0; tries < 100; tries++) {
    if (page.querySelectorAll(".plot[data-drawn]").length === page.querySelectorAll(".plot").length) break;
    await wait(50);
  }
  return [page, frame.contentWindow];
}
const text = nodes => [...nodes].map(node => node.textContent);
async function look(width) {
  const [page] = await load(width);
  page.querySelectorAll("details").forEach(part => part.open = true);
  for (const link of page.querySelectorAll("#browser tbody a")) { page.location.hash = link.getAttribute("href"); await wait(5); }
  const plots = [...page.querySelectorAll(".plot svg")];
  return {width, scroll: page.documentElement.scrollWidth, title: page.title, plots: plots.length,
    empty: plots.filter(plot => !plot.querySelector(".mark-symbol path,.mark-line path,.mark-rect path,.mark-rule line")).length,
    scripts: page.scripts.length, images: page.images.length, links: page.querySelectorAll("a:not([href^='#'])").length,
    opened: page.querySelectorAll(".detail").length, frames: page.querySelectorAll("iframe,object,embed,link").length};
}
async function use() {
  const [page, view] = await load(1280, "#bad/t/3");
  const rows = () => text(page.querySelectorAll("#browser tbody tr:not(.detail) th"));
  const found = {linked: text(page.querySelectorAll(".target th")), detail: text(page.querySelectorAll(".detail .fault b")),
    diff: text(page.querySelectorAll(".diff h4")), added: page.querySelectorAll(".diff .added").length, all: rows().length};
  const mark = page.querySelector("#usable .mark-symbol path"), box = mark.getBoundingClientRect();
  mark.dispatchEvent(new view.PointerEvent("pointermove", {bubbles: true, clientX: box.x + 2, clientY: box.y + 2}));
  await wait(50);
  found.tip = text(page.querySelectorAll("#tip:not([hidden]) div"));
  const filter = page.querySelector("input");
  filter.value = "unknown_tool turn"; filter.dispatchEvent(new view.Event("input"));
  found.filtered = rows().length;
  filter.value = ""; filter.dispatchEvent(new view.Event("input"));
  const [lane] = page.querySelectorAll("select");
  lane.value = "1"; lane.dispatchEvent(new view.Event("input"));
  found.lane = rows().length;
  lane.value = "0"; lane.dispatchEvent(new view.Event("input"));
  const turn = page.querySelectorAll("thead button")[2];
  turn.click(); found.up = rows(); turn.click(); found.down = rows();
  found.sort = page.querySelector("[aria-sort=descending] button").textContent;
  page.location.hash = "#good/t/2"; await wait(50);
  found.second = text(page.querySelectorAll(".target th"));
  page.querySelector(".target a").click();
  found.open = page.querySelectorAll(".detail").length;
  page.location.hash = "#good"; await wait(50);
  found.of_lane = new Set(text(page.querySelectorAll("#browser tbody [data-title=lane]"))).size;
  return found;
}
onload = async () => {
  const seen = [await look(1280), await look(400)];
  document.body.textContent = JSON.stringify({seen, used: await use(), ran: window.ran ?? 0});
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


def browse(address: str, profile: Path, *flags: str) -> tuple[str, str]:
    """The page's body after its scripts have run, and the browser's log."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *flags,
               "--virtual-time-budget=20000", "--enable-logging=stderr", "--dump-dom", address]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r"<body>(.*)</body>", done.stdout, re.DOTALL)
    assert found is not None
    return found[1], done.stderr


def test_hostile_output_neither_runs_nor_loads_nor_overflows_and_turns_can_be_used(tmp_path: Path) -> None:
    with served(tmp_path) as (address, asked):
        run = hostile_run(tmp_path / "run", address)
        (tmp_path / "report.html").write_text(html_report(gather([run])), "utf-8")
        (tmp_path / "look.html").write_text(WRAPPER, "utf-8")
        body, log = browse(f"{address}/look.html", tmp_path / "profile")
    found = json.loads(body)
    assert found["ran"] == 0
    for seen in found["seen"]:
        assert seen["scroll"] <= seen["width"], seen
        assert (seen["title"], seen["scripts"], seen["images"]) == ("replayer: run", 5, 0)
        assert (seen["links"], seen["frames"], seen["opened"]) == (0, 0, 12)
        assert seen["plots"] >= 7
        assert seen["empty"] == 0
    assert set(asked) <= {"/look.html", "/report.html", "/favicon.ico"}
    assert "Content Security Policy" not in log
    check_use(found["used"])


def check_use(used: dict[str, Any]) -> None:
    assert used["linked"] == ["3"]
    assert used["tip"][:2] == ["lane: good", "usable: 100.0%"]
    assert used["detail"][0].startswith("✘ unknown_tool at ")
    assert used["diff"] == ["recorded", "replayed"] and used["added"] >= 1
    assert (used["all"], used["filtered"], used["lane"]) == (12, 5, 6)
    assert used["up"] == sorted(used["up"], key=int) and used["down"] == used["up"][::-1]
    assert used["sort"] == "turn"
    assert used["second"] == ["2"]
    assert used["of_lane"] == 1
    assert used["open"] == 1, "a second click closes the turn; the linked one stays open"


AXE = """<script>
addEventListener("load", async () => {
  await new Promise(resolve => setTimeout(resolve, 2000));
  document.querySelectorAll("details").forEach(part => part.open = true);
  location.hash = document.querySelector("#browser tbody a").getAttribute("href");
  await new Promise(resolve => setTimeout(resolve, 200));
  const found = await axe.run(document);
  const serious = found.violations.filter(one => ["serious", "critical"].includes(one.impact));
  const words = serious.map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary]);
  document.open(); document.write(`<body></body>`); document.close();
  document.body.textContent = JSON.stringify({serious: words, passes: found.passes.length});
});
</script>"""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "axe-core@4"]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize(
    "flags", [("--window-size=1280,900",), ("--window-size=400,900", DARK)], ids=["wide", "dark"]
)
def test_axe_finds_nothing_serious(tmp_path: Path, axe: str, flags: tuple[str, ...]) -> None:
    run = hostile_run(tmp_path / "run", "")
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html_report(gather([run])))
    page += f"<script>{axe}</script>{AXE}"
    with served(tmp_path) as (address, _):
        (tmp_path / "report.html").write_text(page, "utf-8")
        body, log = browse(f"{address}/report.html", tmp_path / "profile", *flags)
    found = json.loads(body.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert found["passes"] > 20, log
    assert found["serious"] == []
