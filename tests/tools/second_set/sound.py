"""Replies in which nothing is wrong, though some look as if: no fault and no warning may come."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tools.second_set.case import WARNED_LEAK, Case, both
from tests.tools.second_set.grammars import dumps

ANSWERS = (
    "The folder holds two files.",
    "Done. All 42 tests pass.",
    "42",
    "✅",
    "好的,文件已经写好了。",
    "कार्य पूरा हो गया है।",
    "تم إنشاء الملف.",
    "הקובץ נכתב.",
    "ファイルを保存しました。",
    "ไฟล์ถูกบันทึกแล้ว",
    "O coração de São João é único: ações, opções, pães.",
    "NÃO É POSSÍVEL: A AÇÃO «SÃO» FALHOU.",
    "Il-Ġorġ mar Ħal Għaxaq; Ġwanni u Ċensu marru Ġnejna.",
    "Die Größe beträgt 5 µm ± 0,1 °C — «sehr» gut.",
    "Tiếng Việt có dấu: Ăn quả nhớ kẻ trồng cây.",
    "👨‍👩‍👧‍👦 The family emoji is joined with zero-width joiners.",
    "می‌خواهم فایل را ببینم.",
    "Use `Bash` to list the files; the call is `Bash(command=\"ls\")`.",
    "The `<tool_call>` tag begins a call, and `</tool_call>` ends it.",
    "A call begins with <tool_call> and the parser looks for that tag in the stream, token by token.",
    "The special token [TOOL_CALLS] is written by Mistral models before a list of calls.",
    "Kimi ends a section with `<|tool_calls_section_end|>`, which the parser removes.",
    "In XML you would write <name>Bash</name> and <arguments>…</arguments>, but JSON is shorter here.",
    "To run it:\n\n```bash\nls -la /tmp\npytest -q\n```",
    "The config is:\n\n```json\n{\"name\": \"my-app\", \"version\": \"1.0\"}\n```",
    "```json\n{\"name\": \"Alice\", \"arguments\": [1, 2]}\n```",
    "{\"name\": \"my-app\", \"scripts\": {\"test\": \"jest\"}}",
    "[1, 2, 3]",
    "[a link](https://example.org/a(b))",
    "f(x) = 2x + 1, so f(3) = 7.",
    "Bash is a shell; Read is a book club. Plan: list, then read.",
    "Action: none is needed. The file is already there.",
    "Thought about it: the answer is yes.",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "<div>\n  <p>Hello</p>\n</div>",
    "The header is `<?xml version=\"1.0\"?>` and the root `<function name=\"x\">`.",
    "Steps:\n1. Read the file.\n2. Edit it.\n3. Run the tests.",
    "I changed `main.py`:\n\n```diff\n-print('a')\n+print('b')\n```",
    "Die Funktion heißt `functions.Read` in der alten API.",
    "Replace `\\ufffd` with `?` where decoding failed.",
    "The tokenizer writes `Ġ` for a space and `<0xC3>` for a byte that has no token.",
    "The role of the scheduler is to assign roles.",
    "Cost: $5–$10, i.e. ≈ 7 €.",
    "#!/bin/sh\necho done\n",
    "Regex: ^[a-z]+(?:-[a-z]+)*$ matches slugs.",
    "def read(path):\n    return open(path).read()",
    "<think>\nI should answer.\n</think>\nIt is done.",
    "The call `Bash{\"command\": \"ls\"}` failed before; it works now.",
    "Mojibake such as `CafÃ©` arises when UTF-8 is read as Latin-1.",
    "Read[0] and Edit[1] are the first two entries of the list.",
)  # fmt: skip

CALLS = (
    ("Bash", {"command": "ls"}),
    ("Bash", {"command": "echo \"a 'b' c\" | sed 's/\"/x/g'"}),
    ("Bash", {"command": "cat <<'EOF' > a.xml\n<parameter name=\"x\">1</parameter>\nEOF", "timeout": 30}),
    ("Bash", {"command": "printf '<tool_call>%s</tool_call>' x"}),
    ("Bash", {"command": "grep -rn '</parameter>' src/ | head"}),
    ("Bash", {"command": "python3 - <<'E'\nprint('Ġ'.encode(), chr(0xFFFD))\nE"}),
    ("Bash", {"command": "echo '你好,世界' > 文件.txt"}),
    ("Bash", {"command": "echo 'São João' && echo 'AÇÃO'"}),
    ("Bash", {"command": ""}),
    ("Read", {"file_path": "/a", "limit": 1}),
    ("Read", {"file_path": "/srv/Ünïcödé/naïve.txt"}),
    ("Read", {"file_path": "C:\\Users\\x\\main.py", "limit": 2000}),
    ("Edit", {"path": "/a", "edits": []}),
    ("Edit", {"path": "/a.html", "edits": [{"old": "<invoke name=\"x\"/>", "new": "<invoke name=\"y\"/>"}]}),
    ("Edit", {"path": "/p.py", "edits": [{"old": "TAG = '<tool_call>'", "new": "TAG = '</tool_call>'"}]}),
    ("Edit", {"path": "/t.md", "edits": [{"old": "a\n\nb", "new": "a\n\n```json\n{}\n```\n\nb"}]}),
    ("Plan", {"status": "open"}),
    ("Plan", {"status": "done", "day": "2026-11-22"}),
    ("List", {}),
    ("Status", {}),
)  # fmt: skip


def cases() -> Iterator[Case]:
    for number, answer in enumerate(ANSWERS):
        mentions = (
            WARNED_LEAK if number in (19, 20) else frozenset()
        )  # docs/faults.md: a mention is a warning
        yield from both(f"sound-answer-{number}", answer, sound=True, allowed=mentions)
    for number, (name, arguments) in enumerate(CALLS):
        said = ANSWERS[number] if number % 3 == 0 else ""
        yield from both(f"sound-call-{number}", said, (name, dumps(arguments)), sound=True)
        spaced = dumps(arguments).replace('": ', '":   ')
        thought = "I draft: <tool_call> comes next." if number % 4 == 0 else "Let me see."
        yield from both(
            f"sound-pair-{number}",
            "",
            (name, spaced),
            ("Bash", '{"command": "pwd"}'),
            reasoning=thought,
            sound=True,
        )
    yield from both(
        "sound-thought-then-answer", "It is done.", reasoning="Maybe call Bash? No need.", sound=True
    )
    quoted = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'
    history = [{"role": "user", "content": f"What is this?\n{quoted}"}]
    yield from both(
        "sound-quotes-the-prompt", f"It is a call:\n{quoted}", request={"messages": history}, sound=True
    )
    damaged = [{"role": "user", "content": "Why does my file say CafÃ© and na\ufffdve?"}]
    yield from both(
        "sound-quotes-damage",
        "Your file says CafÃ© and na\ufffdve because it was decoded twice.",
        request={"messages": damaged},
        sound=True,
    )
    answer = {"city": "Rome", "days": 2}
    asked = {"response_format": {"type": "json_object"}}
    yield from both("sound-call-despite-format", "", ("List", "{}"), request=asked, sound=True)
    yield from both("sound-json-answer", dumps(answer), request=asked, sound=True)
    yield from both("sound-required", "", ("List", "{}"), request={"tool_choice": "required"}, sound=True)
    yield from both(
        "sound-named",
        "",
        ("Read", '{"file_path": "/a"}'),
        finish="stop",
        request={"tool_choice": {"type": "function", "function": {"name": "Read"}}},
        sound=True,
    )
    yield from both("sound-none", "I only talk.", request={"tool_choice": "none"}, sound=True)
    yield from both(
        "sound-no-tools", "I only talk.", request={"tools": None, "tool_choice": None}, sound=True
    )
