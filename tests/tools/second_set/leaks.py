"""Calls left in the text: every family in every shape, tokens lost, families mixed, and who is to blame."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.tools.second_set.case import WARNED_LEAK, Case, both, model, parser
from tests.tools.second_set.grammars import FAMILIES, TOKENS_LOST, Calls, dumps

BASH: Calls = [("Bash", {"command": "ls -la /tmp"})]
READ: Calls = [("Read", {"file_path": "/srv/app/main.py", "limit": 40})]
SEARCH: Calls = [("WebSearch", {"query": "weather in Paris"})]
PROSE = (
    "I will list the folder now.\n",
    "Let me look at the file first.\n\n",
    "Ich sehe mir den Ordner an.\n",
    "Сейчас посмотрю содержимое папки.\n",
    "我先看一下这个目录。\n",
    "D'accord, je regarde « le dossier » :\n",
)
PYTHONIC = {"llama4-pythonic", "lfm2", "smolagents-code"}
NO_MARKUP = {"react", "tool-as-tag", "smolagents-code", "smolagents-json"}
"""Families that only the name of an offered tool makes a call."""
TAGGED = {
    "qwen3-coder", "glm", "dsml", "minimax", "function-calls-xml", "functiongemma", "gemma4", "seed", "tool-as-tag"
}  # fmt: skip
"""Families without JSON that a model could break."""


def cases() -> Iterator[Case]:
    for number, (family, render) in enumerate(FAMILIES.items()):
        yield from _shapes(family, render, PROSE[number % len(PROSE)])
    for number, (family, render) in enumerate(TOKENS_LOST.items()):
        yield from both(f"lost-{family}-alone", render(BASH), **parser())
        yield from both(f"lost-{family}-after-prose", PROSE[number % 6] + render(READ), **parser())
    yield from _mixed()
    yield from _blame()


def _shapes(family: str, render: Callable[[Calls], str], prose: str) -> Iterator[Case]:
    call = render(BASH)
    yield from both(f"{family}-after-prose", prose + call, **parser())
    yield from both(f"{family}-two", render(BASH + READ), **parser())
    yield from both(f"{family}-reasoning", "", reasoning=prose + call, fatal={"call_in_reasoning": "parser"})
    yield from both(
        f"{family}-second-beside-delivered",
        prose + render(READ),
        ("Bash", dumps(BASH[0][1])),
        **parser(),
    )
    yield from both(
        f"{family}-copy-beside-delivered",
        prose + call,
        ("Bash", dumps(BASH[0][1])),
        warnings=WARNED_LEAK,
    )
    yield from both(
        f"{family}-shown-in-a-fence",
        f"This model writes its calls so:\n\n```\n{call}\n```\n\nThe server turns that into a message for you.",
        sound=True,
    )
    yield from both(f"{family}-no-choice", prose + call, request={"tool_choice": "none"}, **model())
    middle = prose + call[: call.rindex("/tmp") + 2]
    yield from both(
        f"{family}-cut",
        middle,
        finish="length",
        tokens=400,
        fatal={"truncated": "budget"},
        allowed=WARNED_LEAK,
    )
    if family not in NO_MARKUP:
        yield from both(f"{family}-unknown-tool", prose + render(SEARCH), **model())
    if family not in TAGGED | PYTHONIC:
        broken = call.replace("ls -la /tmp", 'ls "oops" /tmp')
        yield from both(f"{family}-broken-json", prose + broken, **model())


def _mixed() -> Iterator[Case]:
    texts = {
        "invoke-in-tool-call": '<tool_call>\n<invoke name="Bash">\n<parameter name="command">ls /tmp</parameter>\n'
        "</invoke>\n</tool_call>",
        "equals-parameters-after-a-name": "<tool_call>Bash\n<parameter=command>\nls /tmp\n</parameter>\n</tool_call>",
        "named-parameters-in-function": '<tool_call>\n<function=Bash>\n<parameter name="command">ls /tmp</parameter>\n'
        "</function>\n</tool_call>",
        "glm-pairs-in-function": "<tool_call>\n<function=Bash>\n<arg_key>command</arg_key>\n<arg_value>ls /tmp"
        "</arg_value>\n</function>\n</tool_call>",
        "json-in-function": '<tool_call>\n<function=Bash>\n{"command": "ls /tmp"}\n</function>\n</tool_call>',
        "tag-of-the-tool-in-tool-call": "<tool_call>\n<Bash>\n<command>ls /tmp</command>\n</Bash>\n</tool_call>",
        "name-and-arguments-tags": '<tool_call>\n<name>Bash</name>\n<arguments>{"command": "ls /tmp"}</arguments>\n'
        "</tool_call>",
        "name-and-parameter-tags": "<tool_call>\n<tool_name>Bash</tool_name>\n<parameters>\n<command>ls /tmp</command>\n"
        "</parameters>\n</tool_call>",
        "name-then-object": '<tool_call>\nBash\n{"command": "ls /tmp"}\n</tool_call>',
        "pythonic-in-tool-call": '<tool_call>\nBash(command="ls /tmp")\n</tool_call>',
        "call-colon-in-tool-call": '<tool_call>\ncall:Bash{"command": "ls /tmp"}\n</tool_call>',
        "function-attribute": '<tool_call>\n<function name="Bash">\n<parameter=command>ls /tmp</parameter>\n</function>\n'
        "</tool_call>",
        "mistral-token-in-hermes": '<tool_call>\n[TOOL_CALLS]Bash[ARGS]{"command": "ls /tmp"}\n</tool_call>',
        "harmony-in-hermes": '<tool_call>\nto=functions.Bash {"command": "ls /tmp"}\n</tool_call>',
        "hermes-closed-by-function": '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls /tmp"}}\n</function>',
        "hermes-in-minimax": '<minimax:tool_call>\n{"name": "Bash", "arguments": {"command": "ls /tmp"}}\n'
        "</minimax:tool_call>",
        "parameter-tags-without-function": "<tool_call>\n<tool>Bash</tool>\n<parameter=command>ls /tmp</parameter>\n"
        "</tool_call>",
        "smolagents-fence": 'Thought: I need the list.\nCode:\n```py\nresult = Bash(command="ls /tmp")\nprint(result)\n'
        "```<end_code>",
        "mcp-access": "I use the server.\n<mcp:call tool=\"Bash\">\n{\"command\": \"ls /tmp\"}\n</mcp:call>",
        "tool-use-xml": "<tool_use>\n  <name>Bash</name>\n  <arguments>{\"command\": \"ls /tmp\"}</arguments>\n</tool_use>",
        "tool-xml-with-input": "<tool_use>\n<tool_name>Read</tool_name>\n<input>\n<file_path>/a.txt</file_path>\n</input>\n"
        "</tool_use>",
    }  # fmt: skip
    for number, (name, text) in enumerate(texts.items()):
        yield from both(f"mixed-{name}", PROSE[number % 6] + text, **parser())
    yield from both("mixed-alone", texts["invoke-in-tool-call"], **parser())
    yield from both(
        "mixed-in-reasoning", "", reasoning=texts["json-in-function"], fatal={"call_in_reasoning": "parser"}
    )


def _blame() -> Iterator[Case]:
    """Whose fault a call left in the text is: decided by what the text itself holds."""
    broken = {
        "missing-brace": '{"name": "Bash", "arguments": {"command": "ls /tmp"}',
        "single-quoted-inside": '{"name": "Bash", "arguments": {"command": "grep "a" b"}}',
        "trailing-comma": '{"name": "Bash", "arguments": {"command": "ls",}}',
        "raw-newline": '{"name": "Bash", "arguments": {"command": "ls\npwd"}}',
        "no-quotes": "{name: Bash, arguments: {command: ls}}",
        "two-colons": '{"name": "Bash", "arguments":: {"command": "ls"}}',
    }
    for name, text in broken.items():
        wrapped = f"I look.\n<tool_call>\n{text}\n</tool_call>"
        yield from both(f"blame-hermes-{name}", wrapped, **model())
    yield from both(
        "blame-unknown-misspelt",
        '<tool_call>\n{"name": "bash_tool", "arguments": {"command": "ls"}}\n</tool_call>',
        **model(),
    )
    yield from both(
        "blame-unknown-of-two-second-offered",
        '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "WebSearch", "arguments": {"query": "x"}}\n</tool_call>',
        **parser(),
    )
    yield from both(
        "blame-no-end-tag",
        'I look.\n<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}',
        **parser(),
    )
    yield from both("blame-tail-alone", "ls /tmp\n</parameter>\n</function>\n</tool_call>", **parser())
    yield from both(
        "blame-tool-response",
        "I ran it.\n<tool_response>\na.txt\nb.txt\n</tool_response>",
        **model(),
    )
    yield from both(
        "blame-no-tools-offered",
        '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>',
        request={"tools": None, "tool_choice": None},
        **model(),
    )
    yield from both(
        "blame-nested-quotes",
        'I write it.\n<tool_call>\n{"name": "Bash", "arguments": {"command": "echo \\"<tool_call>\\" > \'a b\'"}}\n'
        "</tool_call>",
        **parser(),
    )
    yield from both(
        "blame-markup-as-value",
        '<tool_call>\n<function=Bash>\n<parameter=command>\necho \'{"name": "x"}\' | jq .\n</parameter>\n</function>\n'
        "</tool_call>",
        **parser(),
    )
