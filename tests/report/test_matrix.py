"""`replayer matrix`: archived runs of real engines on one page, each cell leading to the report of its run."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

from replayer.cli import main

RUNS = Path(__file__).parents[1] / "captures" / "runs-h200"


def test_each_cell_leads_to_its_report(tmp_path: Path) -> None:
    for name in ("cache-off", "two-lanes"):
        with tarfile.open(RUNS / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
    runs = sorted(map(str, (tmp_path / "runs").iterdir()))
    assert main(["matrix", *runs, "-o", str(tmp_path / "page")]) == 0
    text = (tmp_path / "page" / "index.html").read_text()
    links = re.findall(r'href="([^"#]+)#', text)
    assert len(links) == 6 and all((tmp_path / "page" / link).is_file() for link in links)
    assert "0.21.0" in text and "0.5.12.post1" in text and "smollm2" in text and "dummy8b" in text
    assert "12.5% of 16" in text and "<script" not in text


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("mine")
    assert main(["matrix", str(tmp_path), "-o", str(tmp_path / "page")]) == 2
    assert (tmp_path / "page").read_text() == "mine"
