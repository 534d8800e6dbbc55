"""A lane's prefix figures: both shares are over the same turns."""

from pathlib import Path

from replayer.journal.view import load
from replayer.metrics.figures import lane_figures
from tests.tui.pictures import Folder


def test_a_turn_that_is_not_worked_out_yet_does_not_raise_the_reported_share(tmp_path: Path) -> None:
    made = Folder(tmp_path / "run", {"a": {}})
    made.turn("a", 0, usage={"prompt_tokens": 1000, "cached_tokens": 0, "completion_tokens": 40})
    made.prefix("a", 0, prompt_tokens=1000, ideal_tokens=0, reported_tokens=0, lost_tokens=0, cause=None)
    made.turn("a", 1, usage={"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 40})
    figures = lane_figures(load(made.path).lanes[0]).prefix_cache
    assert figures.reported == figures.ideal == 0.0
    made.prefix("a", 1, prompt_tokens=1000, ideal_tokens=900, reported_tokens=900, lost_tokens=0, cause=None)
    figures = lane_figures(load(made.path).lanes[0]).prefix_cache
    assert figures.reported == figures.ideal == 0.45
