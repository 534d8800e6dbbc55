"""An archive put in order, with every awkward kind of turn that a tool layer meets on the way.

Ten parallel calls whose results come back in another order, turns of calls only, nested and optional parameters,
empty and huge results, text in ten scripts, arguments spelled in other ways than compact JSON, a tool that is not
offered, a call without a parameter that it needs.
"""

import json

from replayer.tools.toolsets import load
from sessions.script import Call, Say, Session, User
from sessions.zed import find, grep, ls, read, system_prompt, terminal, write

KIT = "zed-2026-04"
NOT_USED = {
    "fetch",
    "now",
    "open",
    "web_search",
    "spawn_agent",
    "restore_file_from_disk",
    "save_file",
    "update_plan",
}
TOOLS = tuple(tool for tool in load(KIT).tools if tool.name not in NOT_USED)
RULES = """
- Nothing is thrown away without being counted first. What is in doubt goes to `attic/`.
- UTF-8 everywhere, names in NFC. Do not translate what people wrote.
"""

COMPOSED = "09-sant\u00e9.txt"
LETTERS = (
    "01-anna.txt",
    "02-kenji.txt",
    "03-eleni.txt",
    "04-yusuf.txt",
    "05-miriam.txt",
    "06-asha.txt",
    "07-zoe.txt",
    "08-minh.txt",
    COMPOSED,
    "10-with-blanks.txt",
)
PEOPLE = (
    "Anna Lindqvist",
    "健二",
    "Ελένη",
    "يوسف",
    "מרים",
    "आशा",
    "Zoë",
    "Minh",
    "Sante\u0301",
    "(unsigned)",
)
PLACES = (
    "Göteborg, 3 May 1998",
    "京都、平成十年六月",
    "Θεσσαλονίκη, Ιούλιος 1998",
    "القاهرة، ١٢ أغسطس ١٩٩٨",
    "חיפה, ספטמבר 1998",
    "पुणे, अक्टूबर १९९८",
    "Cork, November 1998",
    "Huế, tháng 12 năm 1998",
    "Ravenna, gennaio 1999",
    "no date",
)
INDEX = [
    {"file": file, "from": who, "where": where}
    for file, who, where in zip(LETTERS, PEOPLE, PLACES, strict=True)
]
TABLE = "# 目次\n\n| № | from · 差出人 · من | where, when |\n|---:|---|---|\n" + "".join(
    f"| {number} | {who} | {where} |\n"
    for number, (who, where) in enumerate(zip(PEOPLE, PLACES, strict=True), 1)
)


def run(command: str, timeout_ms: int | None = None) -> Call:
    return terminal(command, "archive", timeout_ms)


def spelled(call: Call, raw: str) -> Call:
    """The same call in another spelling of its JSON."""
    assert json.loads(raw) == call.arguments
    return Call(call.tool, call.arguments, raw)


STEPS = (
    User(
        "Please put the archive in order as `archive/PLAN.md` says. You may use everything; work in small steps. 🙏"
    ),
    Say(
        "",
        spelled(read("archive/PLAN.md"), '{ "path" : "archive\\/PLAN.md" }'),
        spelled(ls("archive/letters"), '{\n  "path": "archive/letters"\n}'),
        results=(1, 0),
    ),
    Say(
        "The whole tree, and the names byte by byte: one of them has an accent that may be two characters.",
        find("**"),
        run("cd letters && ls | cat -A"),
    ),
    Say("The list goes on.", find("**", offset=50), find("archive/**/*.{json,md}", offset=0)),
    Say(
        "`santé` is decomposed indeed (`e` and `M-LM-^A`). Ten letters and a blank one; I read all ten at once.",
        *(
            read(f"archive/letters/{name}")
            for name in (*LETTERS[:8], "09-sante\u0301.txt", "10 with blanks.txt")
        ),
        results=(3, 0, 1, 9, 2, 4, 6, 5, 8, 7),
    ),
    Say("", read("archive/letters/11-blank.txt"), grep("From:", "archive/letters/11*"), run("true")),
    Say(
        "Blank, as its name says; it goes to the attic. Renaming two files and moving one:",
        Call(
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Move File: letters/11-blank.txt\n*** To: attic/11-blank.txt\n*** End Patch\n"
            },
        ),
    ),
    Say(
        "There is no such tool here. With those that there are:",
        Call(
            "move_path",
            {"source_path": "archive/letters/11-blank.txt", "destination_path": "archive/attic/11-blank.txt"},
        ),
        spelled(
            Call(
                "move_path",
                {
                    "source_path": "archive/letters/09-sante\u0301.txt",
                    "destination_path": f"archive/letters/{COMPOSED}",
                },
            ),
            '{"source_path": "archive/letters/09-sante\\u0301.txt", "destination_path": "archive/letters/09-sant\\u00e9.txt"}',
        ),
        Call(
            "move_path",
            {
                "source_path": "archive/letters/10 with blanks.txt",
                "destination_path": "archive/letters/10-with-blanks.txt",
            },
        ),
        results=(2, 0, 1),
    ),
    Say("", ls("archive/letters"), Call("list_directory", {}), ls("archive/letters/11-blank.txt")),
    Say(
        "One call lacked its path and one asked for a file that has moved; the names are right now. The index, and the "
        "table for readers:",
        write(
            "Index of the letters",
            "archive/letters/index.json",
            json.dumps(INDEX, ensure_ascii=True, indent=1) + "\n",
        ),
        write("Index for readers", "archive/letters/目次.md", TABLE),
    ),
    Say(
        "`index.json` is full of `\\u` escapes; a person should be able to read it too. And two corrections in the table.",
        run(
            "python3 -c \"import json; d = json.load(open('letters/index.json')); "
            "json.dump(d, open('letters/index.json', 'w'), ensure_ascii=False, indent=1)\" && cat letters/index.json"
        ),
        Call(
            "edit_file",
            {
                "display_description": "Heading in one language, mark the unsigned one",
                "path": "archive/letters/目次.md",
                "mode": "edit",
                "edits": [
                    {
                        "old_text": "| № | from · 差出人 · من | where, when |",
                        "new_text": "| № | from | where, when |",
                    },
                    {
                        "old_text": "| 10 | (unsigned) | no date |",
                        "new_text": "| 10 | (unsigned) | *no date* |",
                    },
                    {"old_text": "# 目次\n", "new_text": "# 目次 — Contents\n"},
                ],
            },
        ),
    ),
    Say(
        "Now the log. All of it first, to see what a line looks like at the start, in the middle and at the end.",
        read("archive/logs/access.log"),
        run("cat logs/access.log"),
    ),
    Say(
        "Cut both times, so in pieces: the last lines, a piece by numbers, and the failures by a pattern, page by page.",
        read("archive/logs/access.log", 890),
        read("archive/logs/access.log", 1, 12),
        grep(" 500 ", "archive/logs/*.log", case_sensitive=True),
        grep(" 500 ", "archive/logs/*.log", offset=20),
        run("awk '$(NF-1) != 200 {print $(NF-1)}' logs/access.log | sort | uniq -c", 5000),
    ),
    Say(
        "404 and 500, with their counts. The summary, and the scan: count, then remove.",
        run(
            "awk '$(NF-1) != 200 {n[$(NF-1)]++} END {for (s in n) print s, n[s]}' logs/access.log | sort > logs/summary.txt"
        ),
        run("ls old | wc -l; cat old/* | wc -l"),
    ),
    Say(
        "",
        Call("delete_path", {"path": "archive/old"}),
        Call("delete_path", {"path": "archive/old/scan-000.txt"}),
    ),
    Say(
        "The second was inside what the first had removed. What the attic holds now, and a place for what may come:",
        Call("create_directory", {"path": "archive/attic/letters"}),
        Call(
            "copy_path",
            {"source_path": "archive/attic/style.css", "destination_path": "archive/attic/letters/style.css"},
        ),
        Call("delete_path", {"path": "archive/attic/letters/style.css"}),
        ls("archive/attic/letters"),
        read("archive/attic/style.css"),
        Call("diagnostics", {}),
    ),
    Say("", run("sh check.sh"), read("archive/logs/summary.txt"), results=(1, 0)),
    Say(
        "`ok`. Ten letters are listed in `index.json` and `目次.md`, each in the language it was written in; two were "
        "renamed, the blank one is in `attic/`; `old/` had 64 files of one line each and is gone; 31 requests failed with "
        "404 and 35 with 500."
    ),
)

SESSION = Session(
    name="tools-stress",
    title="An archive put in order, the awkward way",
    system=system_prompt("`archive`", RULES),
    tools=TOOLS,
    kit=KIT,
    steps=STEPS,
    check=("sh", "archive/check.sh"),
    purpose="Every awkward kind of turn once: for tool layers, chat templates and parsers.",
)
