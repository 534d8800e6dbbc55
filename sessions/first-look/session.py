"""A bug of one line: the agent runs the tests, reads the code, repairs it and runs the tests again."""

from replayer.tools.toolsets import load
from sessions.script import Call, Say, Session, User

KIT = "mini-swe-agent"
SYSTEM = """\
You repair Python programs. In every answer call the bash tool once.

Example:
<tool_call>
{"name": "bash", "arguments": {"command": "ls"}}
</tool_call>"""


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


TESTS = bash("cd words && python3 -m unittest 2>&1 | tail -n 5")

STEPS = (
    User("A test in `words` fails. Find out why, and repair the code."),
    Say("", TESTS),
    Say("", bash("cat words/count.py")),
    Say(
        'Two blanks give an empty word: `split(" ")` keeps it, `split()` does not.',
        bash("sed -i 's/split(\" \")/split()/' words/count.py"),
    ),
    Say("", TESTS),
    Say("The tests pass. `count` splits at any run of blanks now."),
)

SESSION = Session(
    name="first-look",
    title="Repair a function of one line",
    system=SYSTEM,
    tools=load(KIT).tools,
    steps=STEPS,
    check=("sh", "-c", "cd words && python3 -m unittest"),
    agent="mini-swe-agent",
    kit=KIT,
    purpose="The session that `demo` plays: the shortest one, for a small model on two cores.",
)
