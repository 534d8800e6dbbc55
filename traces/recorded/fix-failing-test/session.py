"""A small Python package with failing tests: the agent finds two causes, breaks a third thing, and repairs it."""

from replayer.traces.recorded import zed
from replayer.traces.recorded.script import Say, Session, User
from replayer.traces.recorded.zed import edit, grep, ls, read, terminal

SYSTEM = """\
You are a coding agent in the Zed editor. Use the tools to read, change and run the user's code, and say briefly \
what you do. Every path starts with a project root.

Project roots: `durations`
OS: linux. Shell: /bin/bash

Project rules (durations/README.md): the tests are the specification. Never change a test to make it pass. \
Run `python3 -m unittest` before you say that you are done."""

TESTS = "python3 -m unittest 2>&1"

STEPS = (
    User("Some tests of this project fail. Find out why, fix the code and not the tests, and make sure that all pass."),
    Say(
        "I'll look at the layout and run the tests first.",
        ls("durations"),
        terminal(TESTS, "durations"),
    ),
    Say(
        "Three failures: decimals, rubbish after a valid part, and a round trip. I'll read the parser beside its tests.",
        read("durations/durations/parse.py"),
        read("durations/tests/test_parse.py", 17, 23),
    ),
    Say(
        'The pattern takes whole numbers only, so "1.5h" is read as "5h", and `findall` skips whatever does not match. '
        "I'll allow decimals and match the whole text.",
        edit(
            "Accept decimals, refuse leftovers",
            "durations/durations/parse.py",
            (
                'PART = re.compile(r"(\\d+)\\s*([dhms])")',
                'PART = re.compile(r"(\\d+(?:\\.\\d+)?)\\s*([dhms])")\nWHOLE = re.compile(f"(?:{PART.pattern})+")',
            ),
            (
                '    parts = PART.findall(text)\n    if not parts:\n        raise ValueError(f"not a duration: {text!r}")\n'
                "    return sum(int(number) * UNITS[unit] for number, unit in parts)",
                '    if not WHOLE.fullmatch(text):\n        raise ValueError(f"not a duration: {text!r}")\n'
                "    return round(sum(float(number) * UNITS[unit] for number, unit in PART.findall(text)))",
            ),
        ),
    ),
    Say("", terminal(TESTS, "durations")),
    Say(
        'My pattern leaves no room for the blank in "1h 30m". I\'ll allow blanks after each part, and look at '
        "`render` for the round trip.",
        edit(
            "Allow blanks between parts",
            "durations/durations/parse.py",
            ('WHOLE = re.compile(f"(?:{PART.pattern})+")', 'WHOLE = re.compile(rf"(?:{PART.pattern}\\s*)+")'),
        ),
        grep("def render", "durations/**/*.py"),
    ),
    Say("", read("durations/durations/render.py")),
    Say(
        "For 0 seconds no unit counts, so `render` returns an empty text, which `parse` rightly refuses. "
        "The shortest text for nothing is `0s`.",
        edit(
            "Render zero as 0s",
            "durations/durations/render.py",
            ('    return " ".join(parts)', '    return " ".join(parts) or "0s"'),
        ),
    ),
    Say("", terminal(TESTS, "durations")),
    Say(
        "All five tests pass. `parse` now reads decimals and refuses text that is not wholly a duration; `render(0)` "
        "gives `0s`, which closes the round trip. No test was changed."
    ),
)

SESSION = Session(
    name="fix-failing-test",
    title="Fix the failing tests of a small Python package",
    system=SYSTEM,
    tools=zed.TOOLS,
    steps=STEPS,
    check=("sh", "-c", "cd durations && python3 -m unittest"),
    purpose="The session that `demo` plays: short enough for a small model on two cores.",
)
