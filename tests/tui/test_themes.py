"""What the themes must keep: everything can be read, and no colour is the only sign of anything."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from replayer.tui import glyphs
from replayer.tui.calls import ADDED, REMOVED
from replayer.tui.cards import _SIGNS, outcome_words
from replayer.tui.themes import THEMES
from tests.tui.colours import EYES, contrast, difference, painted
from tests.tui.pictures import app_on, settled
from tests.tui.test_pictures import PAGES, collapse, engine_failed, press, turns

FACTS = Path(__file__).parent / "golden" / "themes.txt"
LEAST_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3."""
LEAST_DIFFERENCE = 25.0
"""Ten times what is just noticeable."""
NAMES = ("foreground", "foreground-muted", "success", "warning", "error", "primary", "secondary", "accent")
GROUNDS = ("background", "surface", "panel", "panel-lighten-1")
_DRAWN = re.compile("[\u2500-\u259f\\s…·]+")
"""Lines, blocks and filling dots: drawn, not read."""

each_theme = pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)


def colours(theme: Theme) -> dict[str, Color]:
    values = theme.to_color_system().generate() | theme.variables
    return {name: Color.parse(values[name]) for name in (*NAMES, *GROUNDS)}


def facts() -> Iterator[str]:
    """One line for each theme and colour: what it is, and its contrast on every ground."""
    for theme in THEMES:
        known = colours(theme)
        yield f"{theme.name} ({'dark' if theme.dark else 'light'})"
        for name in NAMES:
            ratios = "  ".join(f"{ground} {contrast(known[name], known[ground]):4.1f}" for ground in GROUNDS)
            yield f"  {name:<17} {known[name].hex}  {ratios}"
        for glyph in glyphs.ALL:
            name = re.findall(r"\$([\w-]+)", glyph.style)[0]
            yield f"  {glyph.sign}  {known[name].hex}  {glyph.words}"


def test_the_colours_of_every_theme() -> None:
    seen = "\n".join(facts()) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        FACTS.write_text(seen, encoding="utf-8")
    assert seen == FACTS.read_text(encoding="utf-8")


@each_theme
def test_every_colour_can_be_read_on_every_ground(theme: Theme) -> None:
    known = colours(theme)
    ratios = {(name, ground): contrast(known[name], known[ground]) for name in NAMES for ground in GROUNDS}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < LEAST_CONTRAST} == {}


@pytest.mark.parametrize("eyes", EYES)
def test_good_doubtful_and_bad_stay_apart_for_colour_blind_eyes(eyes: str) -> None:
    known = colours(THEMES[-1])
    pairs = [("success", "error"), ("success", "warning"), ("warning", "error")]
    assert {
        pair: difference(known[pair[0]], known[pair[1]], eyes)
        for pair in pairs
        if difference(known[pair[0]], known[pair[1]], eyes) < LEAST_DIFFERENCE
    } == {}


def test_no_colour_is_the_only_sign() -> None:
    """What differs in colour differs in sign: outcomes of turns, verdicts of calls, results, lines of a diff."""
    assert len({glyph.sign for glyph in glyphs.ALL}) == len(glyphs.ALL)
    assert len({sign for sign, _, _ in _SIGNS.values()}) == len(_SIGNS)
    results = [
        outcome_words(outcome, 1) for outcome in ("ok", "exit_code", "recorded", "not_executable_here")
    ]
    assert len({(sign, words) for sign, _, words in results}) == len(results)
    assert REMOVED != ADDED


@pytest.mark.slow
@each_theme
async def test_everything_on_the_screen_can_be_read(tmp_path: Path, theme: Theme) -> None:
    unreadable = set()
    for state in (turns, collapse, engine_failed):
        state(tmp_path / state.__name__)
        app = app_on(tmp_path / state.__name__)
        async with app.run_test(size=(120, 40)) as pilot:
            app.theme = theme.name
            await settled(pilot)
            for page, keys in PAGES.items():
                if page == "help":
                    continue  # dims what is behind it
                await press(pilot, keys)
                unreadable |= {
                    (page, run.text.strip(), run.colour.hex, run.ground.hex)
                    for run in painted(app)
                    if _DRAWN.sub("", run.text) and contrast(run.colour, run.ground) < LEAST_CONTRAST
                }
    assert unreadable == set()


@pytest.mark.slow
async def test_an_alarm_is_the_loudest_thing_without_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    collapse(tmp_path / "run")
    app = app_on(tmp_path / "run")
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        banner = app.screen.query_one("LaneColumn.alarm > .banner")
        calm, loud = app.screen.query("LaneColumn")
        assert banner.styles.background.rgb == (255, 255, 255) and banner.styles.color.rgb == (0, 0, 0)
        assert banner.styles.text_style.bold
        assert loud.styles.border_top[0] == "heavy" != calm.styles.border_top[0]
