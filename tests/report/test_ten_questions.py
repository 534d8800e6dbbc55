"""Ten questions on ten finished runs: the answer stands in the first screenful of plain output, page and screen, in the
same words."""

import html
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.metrics.run_documents import sentences
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.table import print_report
from replayer.tui.summary_screen import SummaryScreen
from tests.generate import long_session
from tests.run.test_runs import replayer
from tests.tui.pictures import app_on, picture, settled

pytestmark = pytest.mark.slow

RAMP = ("workload.sessions=8", "workload.requests=1", "workload.output_tokens=16", "cool_down=0", "matrix.concurrency=[1,2,8]")  # fmt: skip
QUICK = "simulated,tok_s=4000,prefill_tok_s=40000"
CASES = {
    "better": ("traces", ("a=simulated", "b=simulated,fault=unknown_tool@0.8"), r"^a is better than b in usable turns: 100\.0% against "),
    "real": ("traces", ("a=simulated", "b=simulated,kind=sglang,fault=unknown_tool@0.8"), r"^Yes: −[\d.]+ to −[\d.]+ points for b .* over 8 sessions, p \(adjusted\) 0\.0"),
    "broke": ("traces", ("a=simulated,kind=trtllm", "b=simulated,fault=wrong_type@0.5"), r"^a: nothing; b: wrong_type in \d+ turns?\.$"),
    "blame": ("traces", ("a=simulated,fault=leaked_markup@0.9", "b=simulated,kind=llamacpp"), r"^a: parser in \d+ turns\b"),
    "collapse": ("traces", ("a=simulated,kind=llamacpp", "b=simulated,kind=llamacpp,fault=collapse@0.9:at=60"), r"^b: \d+ turns?, first in turn \d of s0\d, from character \d+ on\.$"),
    "cache": ("traces", (f"a={QUICK}", f"b={QUICK},pool_tokens=0"), r"^b reused 0\.0% \(best possible [\d.]+%\): the prefix cache is off"),
    "load": ("throughput-ramp", ("a=simulated,tok_s=2000,total_tok_s=4000,slots=2", "b=simulated,tok_s=2000"), r"^a: at best [\d,]+ tok/s with \d requests at once, (not )?saturated"),
    "sessions": ("first two", ("a=simulated", "b=simulated,fault=unknown_tool@0.5"), r"^4 at least"),
    "next": ("traces", ("a=simulated,kind=sglang,fault=leaked_markup@0.9",), r"^Check the tool-call parser of a: `replayer doctor URL` names the flag\."),
    "times": ("traces", ("a=simulated,tok_s=2000,ttft_ms=5",), r"^(Yes: arrival times are |No: this machine was too busy )"),
}  # fmt: skip


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sessions")
    found = [folder / f"s{number:02}.trace.jsonl" for number in range(8)]
    for number, path in enumerate(found):
        long_session(path, turns=4, tokens=1500, seed=number)
    return found


async def screenful(folder: Path, size: tuple[int, int]) -> str:
    """What the screen shows first of a finished run, as one line."""
    app = app_on(folder)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        while not isinstance(app.screen, SummaryScreen):
            await settled(pilot)
        await settled(pilot)
        return " ".join(re.sub("[▁▂▃▄▅▆▇█]", " ", picture(app)).split())


@pytest.mark.parametrize("key", CASES)
async def test_the_answer_stands_first(key: str, traces: list[Path], tmp_path: Path) -> None:
    what, engines, pattern = CASES[key]
    asked = [word for path in traces[: 2 if what == "first two" else 8] for word in ("--trace", path)]
    if what == "throughput-ramp":
        asked = ["throughput-ramp", *(word for one in RAMP for word in ("--set", one))]
    lanes = [word for spec in engines for word in ("--engine", spec)]
    done = replayer("run", *asked, *lanes, "--out", tmp_path / "run", "--max-lag", "60000", "--json")
    story = json.loads(done.stdout)["conclusions"]["story"]
    said = {answer["key"]: answer["words"] for answer in story["answers"]}
    assert re.search(pattern, said[key]), said
    console = Console(width=4000, record=True, file=io.StringIO())
    print_report(run_figures(load(tmp_path / "run")), console)
    plain = " ".join(console.export_text().partition("recorded history")[0].split())
    page = html_report(gather([tmp_path / "run"])).partition("<nav")[0]
    shown = html.unescape(re.sub(r"<[^>]+>", "", page))
    screens = [await screenful(tmp_path / "run", size) for size in ((80, 24), (120, 36))]
    for sentence in sentences(said[key]):
        assert plain.count(sentence) == 1, "not in the headline and below it too"
        assert all(sentence in screen for screen in screens)
        assert sentence.replace("`", "") in shown
