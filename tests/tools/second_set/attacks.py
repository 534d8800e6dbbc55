"""Exchanges written to break the rules once they were in place: other languages, nested quotes, families in one
another, text about calls, and markup that belongs where it stands."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tools.second_set.case import WARNED_LEAK, Case, body, both, model, parser, stream, warn
from tests.tools.second_set.grammars import FAMILIES, dumps
from tests.tools.second_set.streams import ROLE, piece

LS = '{"name": "Bash", "arguments": {"command": "ls /tmp"}}'
CALL = f"<tool_call>\n{LS}\n</tool_call>"
BASH = ("Bash", '{"command": "ls /tmp"}')


def cases() -> Iterator[Case]:
    yield from _leaks()
    yield from _talk()
    yield from _arguments()
    yield from _texts()
    yield from _rest()


def _leaks() -> Iterator[Case]:
    lost = {
        "arabic": f"سأعرض محتوى المجلد الآن.\n{CALL}",
        "hindi": f"मैं फ़ोल्डर देखता हूँ।\n{CALL}",
        "thai": f"ฉันจะดูโฟลเดอร์\n{CALL}",
        "chinese-goes-on": f"{CALL}\n文件夹里有两个文件。",
        "rtl-marks": f"\u200f{CALL}\u200f",
        "end-tag-in-a-string": '<tool_call>\n{"name": "Bash", "arguments": {"command": "echo \'</tool_call>\'"}}\n</tool_call>',
        "brackets-in-a-string": "[Bash(command=\"f(x) && g(')]')\")]",
        "quotes-in-pythonic": '<|tool_call_start|>[Bash(command="echo \\"it\'s (fine)\\"")]<|tool_call_end|>',
        "namespace": CALL.replace('"Bash"', '"functions.Bash"'),
        "arguments-encoded": '<tool_call>\n{"name": "Bash", "arguments": "{\\"command\\": \\"ls\\"}"}\n</tool_call>',
        "id-and-type": '{"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{\\"command\\": \\"ls\\"}"}}',
        "one-line": f"Let me look: <tool_call>{LS}</tool_call>",
        "typed-parameter": "<tool_call>\n<function=Read>\n<parameter=file_path>\n/a\n</parameter>\n<parameter=limit>\n40\n</parameter>\n"
        "</function>\n</tool_call>",
        "list-parameter": "<tool_call>\n<function=Edit>\n<parameter=path>\n/a\n</parameter>\n<parameter=edits>\n[]\n</parameter>\n"
        "</function>\n</tool_call>",
        "html-in-a-parameter": "<tool_call>\n<function=Bash>\n<parameter=command>\necho '<b>x</b>' > a.html\n</parameter>\n</function>\n"
        "</tool_call>",
        "no-arguments": '<tool_call>\n{"name": "Status", "arguments": {}}\n</tool_call>',
        "preamble-channel": "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.Bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        "analysis-then-call": "<|channel|>analysis<|message|>I need the list.<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.Bash<|message|>{"command": "ls"}',
        "after-a-closed-fence": f"I write it down.\n```bash\nls /tmp\n```\n{CALL}",
        "two-families": f'{CALL}\n[TOOL_CALLS]Read[ARGS]{{"file_path": "/a"}}',
        "token-behind": f"{LS}<|im_end|>",
        "functioncall": f"<functioncall> {LS}",
        "tool-tag": f"<tool>{LS}</tool>",
        "tool-call-brackets": f"[TOOL_CALL]{LS}[/TOOL_CALL]",
        "action-tags": '<action>\n<tool>Bash</tool>\n<params>{"command": "ls"}</params>\n</action>',
        "mcp-tool-call": '<mcp_tool_call><tool>Bash</tool><input>{"command": "ls"}</input></mcp_tool_call>',
        "tool-and-arguments": 'Tool: Bash\nArguments: {"command": "ls"}',
        "call-id": 'Bash[CALL_ID]abc123456[ARGS]{"command": "ls"}',
        "name-swallowed": '[ARGS]{"command": "ls"}',
        "code-agent": 'Thought: I list it.\nCode:\n```py\nx = Bash(command="ls")\n```',
        "lost-broken-beside-sound": 'Bash{"command": "ls"}\nRead{"file_path": "/a"}',
    }  # fmt: skip
    for name, text in lost.items():
        yield from both(f"attack-{name}", text, **parser())
    wrong = {
        "lost-tokens-broken": 'Bash{"command": "grep "a" b"}',
        "required-is-missing": '<tool_call>\n{"name": "Bash", "arguments": {"timeout": 3}}\n</tool_call>',
        "wrong-type": '<tool_call>\n{"name": "Read", "arguments": {"file_path": "/a", "limit": "many"}}\n</tool_call>',
        "pythonic-broken": '<|tool_call_start|>[Bash(command="ls)]<|tool_call_end|>',
        "kimi-unknown": '<|tool_calls_section_begin|><|tool_call_begin|>functions.WebSearch:0<|tool_call_argument_begin|>{"q": "x"}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        "cut-off-by-itself": 'I look.\n<tool_call>\n{"name": "Bash", "argum',
    }
    for name, text in wrong.items():
        yield from both(f"attack-{name}", text, **model())
    yield from both("attack-required-but-leaked", CALL, request={"tool_choice": "required"}, **parser())
    yield from both(
        "attack-leak-with-reasoning", CALL, reasoning="I should list the folder with Bash.", **parser()
    )
    hidden = "I should look.\n<tool_call>\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>"
    yield from both("attack-hidden-xml", "", reasoning=hidden, fatal={"call_in_reasoning": "parser"})
    yield from both(
        "attack-hidden-in-think", f"<think>\n{hidden}\n</think>\n", fatal={"call_in_reasoning": "parser"}
    )


def _talk() -> Iterator[Case]:
    """Text about calls."""
    sound = {
        "rust": "The struct literal `Plan { status: Open }` needs a trait, so I wrote Status { ok: true } instead.",
        "links": "See [List](#list), [Read](docs/read.md) and [Bash](https://gnu.org/bash).",
        "react-prose": "Action: none. The list is empty, so there is nothing to read.",
        "drafts-in-think": f"<think>\nMaybe {LS} would do.\n</think>\nThe folder is empty.",
        "manifest": '<intent-filter>\n  <action android:name="Read"/>\n</intent-filter>',
        "json-schema": '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}',
        "package": '{"name": "bash-tools", "version": "1.0.0", "arguments": ["-v"]}',
        "python-def": "def Bash(command):\n    return run(command)\n",
        "numbers": "1. Bash: 3 calls\n2. Read: 5 calls\n3. Edit: none",
        "inline-html": "Write <code>ls -la</code> and <b>not</b> <code>dir</code> here.",
        "sparkline": "Load: ▁▂▃▅▇▆▃▁ over the last hour",
        "maltese-capitals": "IL-ĠGANT ĠĦAL ĊENSU",
        "vietnamese": "Đã tạo xong tệp; mời bạn xem lại nội dung ở dưới.",
        "icelandic": "Þetta er í lagi. Ðað er búið, ÁÐUR en það hófst.",
        "greek": "Το αρχείο γράφτηκε. Όλα είναι εντάξει.",
        "hebrew-points": "הַקֹּבֶץ נִכְתַּב בְּהַצְלָחָה.",
        "czech": "Úžasné! Íž a Ášek čtou soubor žluťoučký kůň.",
        "italian": "«Perché…» è già così: la città più bella…",
        "french": "Ça marche : « déjà », « où », « À bientôt », l’été – voilà.",
        "math": "Å² is not Å, Ø² is not Ø, and ß² is nonsense; 5 Å³ = 5·10⁻³ nm³.",
        "emoji-variation": "❤️‍🔥 done ✔️",
    }
    for name, text in sound.items():
        yield from both(f"attack-sound-{name}", text, sound=True)
    shown = f"The model writes\n\n    {CALL.replace(chr(10), chr(10) + '    ')}\n\nand the server parses it."
    yield from both("attack-sound-indented", shown, sound=True)
    yield from both(
        "attack-sound-draft-then-answer",
        "The folder is empty.",
        reasoning=f"I could call {CALL} but I know it.",
        sound=True,
    )


def _arguments() -> Iterator[Case]:
    """Markup that belongs where it stands, and markup that does not."""
    job = "cat > job.xml <<'EOF'\n<job>\n<parameter name=\"timeout\">30</parameter>\n</job>\nEOF"
    page = "cat > t.jinja <<'EOF'\n{{ '<tool_call>' }}{{ c }}{{ '</tool_call>\\n<tool_call>' }}{{ d }}\nEOF"
    sound = {
        "xml-with-a-parameter-of-the-tool": job,
        "chat-template": page,
        "json-in-a-command": 'curl -d \'{"a": "b", "timeout": 3}\' http://127.0.0.1',
        "printf": 'printf \'%s\' "a", "timeout": 3',
        "sed": "sed -i 's/<|im_end|>//g; s/Ġ/ /g' vocab.txt",
        "heredoc-unicode": "python3 - <<'E'\nassert 'é'.encode() == b'\\xc3\\xa9'\nE",
        "byte-table": "grep -c '<0x0A>' tokenizer.model",
        "replacement": "python3 -c \"print(open('a').read().replace('\ufffd', '?'))\"",
    }
    for name, command in sound.items():
        yield from both(f"attack-sound-call-{name}", "", ("Bash", dumps({"command": command})), sound=True)
    swallowed = {
        "two": "ls\n</parameter>\n<parameter=timeout>\n30\n</parameter>\n<parameter=why>\nx",
        "escaped": 'ls /tmp", "timeout": 30',
    }
    for name, value in swallowed.items():
        call = ("Bash", dumps({"command": value}))
        yield from both(f"attack-swallowed-{name}", "", call, fatal={"swallowed_parameter": "parser"})
    gemma = '{"command": "ls"}<tool_call|><|tool_call>call:Read{file_path:<|"|>/a<|"|>}'
    yield from both("attack-next-call-gemma", "", ("Bash", gemma), fatal={"arguments_not_json": "parser"})
    yield from both(
        "attack-name-and-arguments",
        "",
        ('Bash{"command": "ls"}', ""),
        fatal={"unknown_tool": "parser", "arguments_not_json": "unknown"},
    )
    yield from both("attack-copy-first", CALL, BASH, warnings=WARNED_LEAK)
    yield from both("attack-copy-respaced", CALL.replace(": ", ":  "), BASH, warnings=WARNED_LEAK)


def _texts() -> Iterator[Case]:
    damaged = {
        "emoji-lost": "All done \ufffd\ufffd\ufffd, the tests pass.",
        "undecoded-quote": "ItâĢĻs done, the file is written.",
        "undecoded-cjk": "ä½łå¥½ï¼Įæĸĩä»¶å·²åĨĻå¥½ãĢĤ",
        "double-arabic": "ØªÙ… Ø¥Ù†Ø´Ø§Ø¡ Ø§Ù„Ù…Ù„Ù",
        "double-emoji": "Done ðŸŽ‰ now",
        "byte-tokens-in-a-word": "na<0xC3><0xAF>ve",
    }
    for name, text in damaged.items():
        yield from both(f"attack-damaged-{name}", text, **warn("damaged_text"))
    blanks = {
        "token-and-width": "\u200b<|im_end|>",
        "object-mark": "\u2063\u2064",
        "tag-space": "\u00a0\u3164\n",
    }
    for name, text in blanks.items():
        yield from both(f"attack-empty-{name}", text, fatal={"empty_turn": "unknown"}, allowed=WARNED_LEAK)
    only = "<|channel|>analysis<|message|>The user wants the list; I should call Bash."
    yield from both("attack-analysis-only", only, fatal={"empty_turn": "unknown"}, allowed=WARNED_LEAK)
    drafted = '<|channel|>analysis<|message|>I could do to=functions.Bash {"command": "ls"}<|end|>'
    spoken = "<|start|>assistant<|channel|>final<|message|>There is nothing to list."
    yield from both("attack-analysis-drafts-a-call", drafted + spoken, **warn("leaked_markup"))
    beside = "<|channel|>analysis<|message|>I need Bash.<|end|>"
    yield from both("attack-analysis-beside-a-call", beside, BASH, **warn("leaked_markup"))


def _rest() -> Iterator[Case]:
    internal = {"type": "server_error", "code": 500}
    history, engine = {"history_rejected": "input"}, {"engine_error": "engine"}
    errors = {
        "roles-supported": ("Only user, assistant and tool roles are supported!", history),
        "system-role": ("System role not supported", history),
        "node-role": ("ray: no node with role 'decode' answers", engine),
        "role-attribute": ("AttributeError: 'NoneType' object has no attribute 'role'", engine),
        "call-id-pattern": (
            "Tool call id was toolu_01 but must be a-z, A-Z, 0-9, with a length of 9.",
            history,
        ),
    }
    for name, (message, fatal) in errors.items():
        yield body(f"attack-error-{name}", {"error": {"message": message, **internal}}, fatal=fatal)
    whole = '{"command": "ls \\ud83d\\ude00"}'
    yield stream(
        "attack-sound-split-escape",
        ROLE,
        piece(0, "", "Bash", "a"),
        *(piece(0, char) for char in whole),
        finish="tool_calls",
        sound=True,
    )
    yield stream(
        "attack-sound-empty-deltas",
        ROLE,
        {},
        {"content": None},
        {"content": "Do"},
        {"content": ""},
        {"content": "ne."},
        sound=True,
    )
    yield stream(
        "attack-two-calls-new-ids", ROLE, piece(0, "", "Bash", "a1"), piece(0, '{"command": "ls"', None, "a2"), piece(0, "}", None, "a3"),
        piece(1, "", "List", "b1"), piece(1, "{}", None, "b2"), finish="tool_calls", **warn("protocol"),
    )  # fmt: skip
    for family, render in FAMILIES.items():
        text = render([("Bash", {"command": "ls /tmp"})])
        deltas = [{"content": char} for char in text]
        yield stream(f"attack-{family}-by-characters", ROLE, *deltas, **parser())
