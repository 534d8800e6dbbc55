"""The HTML report without a browser: whole, inert, and harmless whatever a model wrote."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import run_figures
from replayer.report import charts
from replayer.report.evidence import gather
from replayer.report.faults import marked
from replayer.report.html import html_report
from replayer.report.templates import environment
from replayer.report.turn_table import call_text
from tests.report.runs import hostile_run

TAGS = set(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "b",
        "br",
        "main",
        "section",
        "dl",
        "div",
        "dt",
        "dd",
        "nav",
        "a",
        "ul",
        "li",
        "span",
        "small",
        "figure",
        "figcaption",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "pre",
        "mark",
        "code",
        "script",
    ]
)


class Page(HTMLParser):
    """Its tags, attributes, and the text of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.policy = ""
        self.inside: dict[str, list[tuple[dict[str, Any], str]]] = {"script": [], "style": []}
        self._open: tuple[str, dict[str, Any]] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.attributes |= found.keys()
        self.links += [found["href"] or ""] if "href" in found else []
        if found.get("http-equiv"):
            self.policy = found["content"] or ""
        if tag in self.inside:
            self._open = (tag, found)
            self.inside[tag].append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            tag, found = self._open
            self.inside[tag][-1] = (found, self.inside[tag][-1][1] + data)

    def data(self, name: str) -> Any:
        return json.loads(next(text for found, text in self.inside["script"] if found.get("id") == name))


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(html_report(gather([hostile_run(tmp_path / "run", "http://127.0.0.1:9")])))


def test_the_page_holds_no_markup_of_a_model(page: Page) -> None:
    assert page.tags <= TAGS
    assert not [
        name for name in page.attributes if name.startswith("on") or name in ("src", "style", "srcdoc")
    ]
    assert page.links and all(link.startswith("#") for link in page.links)


def test_only_the_scripts_of_the_page_may_run(page: Page) -> None:
    running = [text for found, text in page.inside["script"] if found.get("type") != "application/json"]
    (style,) = [text for _, text in page.inside["style"]]
    hashes = " ".join(map(digest, running))
    assert len(running) == 3
    assert page.policy == (
        f"default-src 'none'; script-src {hashes}; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
    )


def test_no_control_character_reaches_the_page(tmp_path: Path) -> None:
    text = html_report(gather([hostile_run(tmp_path / "run", "")]))
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", own)
    assert "&lt;script&gt;" in own


def test_the_story_names_what_was_planted(tmp_path: Path) -> None:
    text = html_report(gather([hostile_run(tmp_path / "run", "")]))
    assert "Not decided: 1 session of at least 6. Usable turns: good 100.0%, bad 0.0%." in text
    assert "bad answered 6 turns; 0 of 6 turns were usable: 0.0%" in text
    assert "1 repeated itself" in text
    assert "unknown_tool in 6" in text
    assert "unknown_tool: 6 turns, blame model" in text
    assert "good and bad, usable turns: not tested, 1 session of at least 6; " in text
    assert "−100.0 points for bad" in text and "is worse than" not in text


def test_every_turn_stands_in_the_table_and_each_faulty_one_is_quoted(page: Page) -> None:
    data = page.data("data")
    assert (data["lanes"], data["sessions"], data["left_out"]) == (["good", "bad"], ["t"], 0)
    assert [(row[0], row[2], row[4]) for row in data["rows"]] == [
        (lane, turn, 2 if lane else 0) for lane in (0, 1) for turn in range(1, 7)
    ]
    assert {data["words"][row[3]] for row in data["rows"]} == {"usable", "collapsed", "unknown_tool"}
    quote = data["quotes"]["1.0.2"]
    (fault,) = (data["faults"][number] for number in quote["faults"])
    assert fault[:3] == [True, fault[1], "model"] and fault[1].startswith("unknown_tool at ")
    assert any(
        note.startswith("Prefix lost, 2 tokens computed again: a date or time") for note in quote["notes"]
    )
    assert any(note.startswith("Collapsed from character 40 on") for note in data["quotes"]["1.0.1"]["notes"])


def test_examples_link_to_turns_of_the_table(page: Page) -> None:
    data = page.data("data")
    turns = {f"#{data['lanes'][row[0]]}/{data['sessions'][row[1]]}/{row[2]}" for row in data["rows"]}
    linked = [link for link in page.links if "/" in link]
    assert linked and set(linked) <= turns


def test_a_page_without_the_extra_has_no_picture_and_says_so(tmp_path: Path) -> None:
    run = hostile_run(tmp_path / "run", "", turns=2)
    code = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "import importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'vl_convert' else found(name, *more)\n"
        "from replayer.cli import main; sys.exit(main())"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "report",
        run,
        "--html",
        tmp_path / "a.html",
        "--markdown",
        tmp_path / "a.md",
    ]
    subprocess.run(command, check=True, timeout=300)
    text = (tmp_path / "a.html").read_text()
    assert "pip install &#39;agent-replayer[report]&#39;" in text
    assert 'class="plot"' not in text and len(text) < 200_000
    assert "![" not in (tmp_path / "a.md").read_text()


@pytest.mark.slow
def test_markdown_has_its_pictures_beside_it(tmp_path: Path) -> None:
    run = hostile_run(tmp_path / "run", "", turns=2)
    command = [sys.executable, "-m", "replayer", "report", run, "--markdown", tmp_path / "a b.md"]
    subprocess.run(command, check=True, timeout=300)
    names = re.findall(r"^!\[[^\]]+\]\(([^)]+)\)$", (tmp_path / "a b.md").read_text(), re.MULTILINE)
    assert "a-b-usable.svg" in names and "a-b-faults.svg" in names
    for name in names:
        picture = (tmp_path / name).read_text()
        assert picture.startswith("<svg") and "var(--" not in picture


def test_lanes_share_their_scales(tmp_path: Path) -> None:
    document = run_figures(gather([hostile_run(tmp_path / "run", "")]).view)
    drawn = charts.prefix(document.lanes)
    scales = [layer["encoding"]["x"]["scale"] for chart in drawn for layer in chart.spec["layer"]]
    assert len(drawn) == 2 and all(scale == scales[0] for scale in scales)


@pytest.mark.slow
def test_a_load_plan_has_a_line_a_lane_and_its_saturation(tmp_path: Path) -> None:
    """Through the real command: two engines, three levels."""
    engine = "simulated,kind=vllm,tok_s=2000,total_tok_s=4000,slots=2"
    sets = ("workload.sessions=8", "workload.requests=1", "workload.output_tokens=16", "cool_down=0", "matrix.concurrency=[1,2,8]")  # fmt: skip
    command = [sys.executable, "-m", "replayer", "run", "throughput-ramp", "--engine", f"a={engine}",
               "--engine", f"b={engine}", *(word for one in sets for word in ("--set", one)),
               "--out", tmp_path / "run", "--max-lag", "60000", "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    story = json.loads(done.stdout)["conclusions"]["story"]
    assert " delivers most: " in story["headline"] and story["standings"] == []
    load = next(answer["words"] for answer in story["answers"] if answer["key"] == "load")
    assert load.startswith("a: at best ") and "; b: at best " in load
    page = Page(html_report(gather([tmp_path / "run"])))
    throughput = page.data("charts")["load-output_tok_s"]
    rows = throughput["layer"][-1]["data"]["values"]
    assert [(row["lane"], row["at"]) for row in rows] == [(lane, at) for lane in "ab" for at in (1, 2, 8)]
    assert {"load-ttft_ms-p95", "load-usable_turn_rate"} <= page.data("charts").keys()
    assert sum("answered" in words for words in json.loads(done.stdout)["conclusions"]["together"]) == 1


def test_long_names_of_a_sweep_are_shortened() -> None:
    names = [f"local+temperature={value}+repetition_penalty=1.1" for value in (0.0, 1.0)]
    assert list(charts.short_names(names).values()) == ["t=0.0+rp=1.1", "t=1.0+rp=1.1"]
    assert charts.short_names(["vllm", "sglang"]) == {"vllm": "vllm", "sglang": "sglang"}


def test_a_lane_without_figures_has_no_chart() -> None:
    nothing: list[LaneFigures] = []
    assert charts.faults(nothing) == charts.prefix(nothing) == []


def test_a_collapse_is_marked_copy_by_copy() -> None:
    assert marked("ab<b><b><b>c", 5, 3) == (
        'ab<mark>&lt;b&gt;</mark><mark class="other">&lt;b&gt;</mark><mark>&lt;b&gt;</mark><mark class="other">c</mark>'
    )


@given(st.text(), st.text())
def test_text_never_becomes_markup(words: str, value: str) -> None:
    element = environment().from_string('<p title="{{ value }}">{{ words }} {{ words | code }}</p>')
    made = element.render(words=words, value=value)
    assert made.count("<") == 2 + 2 * made.count("<code>")
    assert made.count('"') == 2


def test_arguments_nested_without_end_are_shown_as_they_came() -> None:
    raw = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert call_text("ls", raw) == f"⚒ ls  {raw}"
    assert call_text("ls", "[1]") == "⚒ ls  [1]"
    assert call_text("ls", '{"a": "b"}') == "⚒ ls\n  a: b"
