"""The repetition signal through its public seam: deltas in, findings out."""

from replayer.signals.repetition import RepetitionDetector, scan
from replayer.wire.types import Delta


def feed(detector: RepetitionDetector, text: str, size: int = 4, channel: str = "content") -> list[dict]:
    found: list[dict] = []
    for start in range(0, len(text), size):
        found += detector.feed(Delta(0, channel, text[start : start + size], -1))
    return found


def test_a_loop_is_found_within_a_few_dozen_tokens_and_back_dated() -> None:
    before = "The cause is an off-by-one error in push(). "
    found = feed(RepetitionDetector(), before + "(Sigh) (Laughter) " * 60)
    alarm = found[-1]
    assert (alarm["level"], alarm["period"]) == ("collapsed", 18)
    assert abs(alarm["onset"] - len(before) - 18) <= 2
    assert alarm["detected_at"] - alarm["onset"] <= 180
    assert alarm["wasted_chars"] == alarm["detected_at"] - alarm["onset"]


def test_text_that_stands_in_the_prompt_is_no_collapse_until_it_outgrows_it() -> None:
    line = "I will not talk in class any more. "
    prompt = "Print this again:\n" + line * 30
    found = feed(RepetitionDetector(prompt_contains=prompt.__contains__), line * 30)
    assert {alarm["level"] for alarm in found} == {"suspect"}
    found = feed(RepetitionDetector(prompt_contains=prompt.__contains__), line * 300)
    assert found[-1]["level"] == "collapsed"


def test_tool_names_are_ignored_and_calls_are_watched_apart() -> None:
    detector = RepetitionDetector()
    assert feed(detector, "bash" * 200, channel="tool_name") == []
    for index in range(40):
        assert detector.feed(Delta(0, "tool_arguments", '{"command": "ls"}', index)) == []


def test_sound_text_raises_nothing() -> None:
    assert scan("\n".join(f"{n} bottles of beer on the wall" for n in range(5))) is None
    assert scan("") is None
