"""The telemetry screen: curves over time, and bands of speed where a lane has any."""

from pathlib import Path

from tests.tui.pictures import Folder, app_on, picture, settled


def two_speeds(path: Path) -> Folder:
    """A lane whose replies come at 100 or at 50 tokens/s, with the draft acceptance that explains it."""
    folder = Folder(path, {"vllm": {}}, turns=24)
    for turn in range(24):
        slow = turn // 4 % 2
        folder.turn(
            "vllm",
            turn,
            usage={"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 40 + turn % 4},
            total_ns=450_000_000 + 400_000_000 * slow,
            extra={"timings": {"draft_n": 100, "draft_n_accepted": 40 if slow else 80}},
        )
    return folder


async def test_bands_of_speed_are_shown_with_their_acceptance(tmp_path: Path) -> None:
    folder = two_speeds(tmp_path / "run")
    folder.finish("vllm")
    app = app_on(folder.path)
    async with app.run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        await settled(pilot)
        seen = picture(app)
    assert "2 separate bands of speed" in seen
    assert "50% of turns, acceptance 80%" in seen
    assert "50% of turns, acceptance 40%" in seen
