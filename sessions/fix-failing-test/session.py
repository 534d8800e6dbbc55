"""A small Python package with failing tests: the agent finds two causes, breaks a third thing, and repairs it."""

from sessions import zed
from sessions.script import Say, Session, User
from sessions.zed import edit, grep, ls, read, terminal

SYSTEM = """\
You are a coding agent in the Zed editor. Use the tools to read, change and run the user's code, and say briefly \
what you do. Every path starts with a project root.

Project root: `durations`. OS: linux. Shell: /bin/bash

Project rules: the tests are the specification; never change a test to make it pass. Run `python3 -m unittest` \
before you say that you are done."""

TESTS = terminal("python3 -m unittest 2>&1", "durations")

STEPS = (
    User(
        "Some tests of this project fail. Find out why, fix the code and not the tests, and make sure that all pass."
    ),
    Say("I'll look at the layout and run the tests first.", ls("durations"), TESTS),
    Say(
        "Three failures: a decimal, rubbish after a valid part, and a round trip. I'll read the parser, "
        "and which rubbish it must refuse.",
        read("durations/parse.py"),
        grep("for text in", "durations/tests/*.py"),
    ),
    Say(
        'The pattern takes whole numbers only, so "1.5h" is read as "5h", and `findall` skips whatever does not match. '
        "I'll allow decimals and match the whole text.",
        edit(
            "Accept decimals, refuse leftovers",
            "durations/parse.py",
            (
                'PART = re.compile(r"(\\d+)\\s*([dhms])")',
                'PART = re.compile(r"(\\d+(?:\\.\\d+)?)\\s*([dhms])")\nWHOLE = re.compile(f"(?:{PART.pattern})+")',
            ),
            ("    if not parts:", "    if not WHOLE.fullmatch(text):"),
            ("sum(int(number) *", "sum(float(number) *"),
        ),
    ),
    Say("", terminal("python3 -m unittest tests.test_parse 2>&1", "durations")),
    Say(
        'My pattern leaves no room for the blank in "1h 30m": I\'ll allow blanks after each part. '
        "The round trip failed for 0, so I read `render` too.",
        edit(
            "Allow blanks between parts",
            "durations/parse.py",
            ('f"(?:{PART.pattern})+"', 'rf"(?:{PART.pattern}\\s*)+"'),
        ),
        read("durations/render.py"),
    ),
    Say(
        "For 0 seconds no unit counts, so `render` returns an empty text, which `parse` rightly refuses. "
        "The shortest text for nothing is `0s`.",
        edit("Render zero as 0s", "durations/render.py", ('" ".join(parts)', '" ".join(parts) or "0s"')),
    ),
    Say("", TESTS),
    Say(
        "All tests pass. `parse` now reads decimals and refuses text that is not wholly a duration; `render(0)` "
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
    purpose="A short session with failing tests: where most examples in the documents start.",
)
