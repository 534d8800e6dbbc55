"""Markdown, CSV and JUnit XML of a run: right, and harmless with hostile output in it."""

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet
import pytest

from replayer.report.csv import csv_report, parquet_report
from replayer.report.evidence import Evidence, gather
from replayer.report.junit import junit_report
from replayer.report.markdown import markdown_report
from replayer.text import markdown as words
from tests.report.runs import hostile_run


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return gather([hostile_run(tmp_path / "run", "http://127.0.0.1:9", turns=6)])


def test_csv_has_one_row_per_turn(evidence: Evidence) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_report(evidence))))
    assert [(row["lane"], row["turn"], row["usable"]) for row in rows] == [
        (lane, str(turn), usable) for lane, usable in (("good", "1"), ("bad", "0")) for turn in range(1, 7)
    ]
    assert rows[6]["collapse_kind"] == "cycle"
    assert rows[6]["error"] == rows[6]["drafted"] == ""
    assert (rows[7]["cached_tokens"], rows[7]["ideal_cached_tokens"]) == ("10", "12")


def test_junit_fails_the_sessions_with_unusable_turns_and_the_broken_conditions(evidence: Evidence) -> None:
    root = ElementTree.fromstring(junit_report(evidence).encode())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "0")
    failure = root.find("testsuite[@name='bad']/testcase/failure")
    assert failure is not None and failure.get("message") == "6 of 6 turns unusable"
    assert root.find("testsuite[@name='good']/testcase/failure") is None
    assert root.find("testsuite[@name='conditions']/testcase/failure") is not None


def test_markdown_holds_no_markup_of_a_model(evidence: Evidence) -> None:
    page = markdown_report(evidence)
    assert "good and bad, usable turns: not tested, 1 session of at least 6; " in page
    assert "−100.0 points for bad" in page and "worse" not in page
    assert not re.search(r"<(?!/?(details|summary)>)|://|\x1b", page)
    widths = {line.count("|") for line in page.splitlines() if line.startswith("|")}
    assert widths == {4, 8}  # two lanes; the comparisons have seven columns


def test_markdown_neither_mentions_nor_links() -> None:
    assert words("@team #1 https://x www.x [a](b)\n# b") == (
        "@\u200bteam #\u200b1 https:\u200b//x www\u200b.x &#91;a&#93;(b) #\u200b b"
    )


def test_the_command_writes_files_and_names_one_it_cannot_write(tmp_path: Path) -> None:
    run = hostile_run(tmp_path / "run", "", turns=1)
    command = [sys.executable, "-m", "replayer", "report", str(run)]
    good = subprocess.run([*command, "--html", tmp_path / "a.html", "--csv", tmp_path / "a.csv"], timeout=300)
    assert good.returncode == 0
    assert (tmp_path / "a.html").stat().st_size > (tmp_path / "a.csv").stat().st_size > 100
    bad = subprocess.run(
        [*command, "--junit", tmp_path / "no" / "a.xml"], capture_output=True, text=True, timeout=300
    )
    assert bad.returncode == 2
    assert bad.stderr.endswith("a.xml: No such file or directory\n")


def test_parquet_has_the_rows_of_the_csv_with_types(evidence: Evidence) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(parquet_report(evidence)))
    rows = table.to_pylist()
    assert [(row["lane"], row["turn"], row["usable"]) for row in rows[:2] + rows[6:7]] == [
        ("good", 1, True), ("good", 2, True), ("bad", 1, False)
    ]  # fmt: skip
    assert rows[6]["faults"] == ["unknown_tool"]
    assert rows[6]["error"] is rows[6]["drafted"] is None
    assert str(table.schema.field("ttft_ms").type) == "double"
    assert not any("\x1b" in (row["model"] or "") for row in rows)


def test_parquet_without_its_extra_names_it(tmp_path: Path) -> None:
    run = hostile_run(tmp_path / "run", "", turns=1)
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    done = subprocess.run(
        [sys.executable, "-m", "replayer", "report", str(run), "--parquet", tmp_path / "a.parquet"],
        capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert done.returncode == 3
    assert "pip install 'agent-replayer[parquet]'" in done.stderr
    assert not (tmp_path / "a.parquet").exists()
