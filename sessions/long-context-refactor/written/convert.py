"""Decision 14 for the departments that are built alike. Shown in the change, then thrown away."""

import re
import sys
from pathlib import Path

MODELS = [
    (r"Amounts are in euros\. What", "What"),
    (r": float = 0\.0", ": Money = ZERO"),
    (r": float$", ": Money"),
    (r"<= 0\.0", "<= ZERO"),
]
SERVICE = [
    (r"-> float", "-> Money"),
    (r"dict\[str, float\]", "dict[str, Money]"),
    (r"return \{name: round\(amount, 2\) for name, amount in sums\.items\(\)\}", "return sums"),
    (r"round\(([^()]+), 2\)", r"\1"),
    (r"(\w+) \* rate / 100", r"\1 * (rate / 100)"),
    (r"^([A-Z_]+) = (\d+\.\d)$", r'\1 = Money.of("\g<2>0")'),
    (r"^([A-Z_]+) = (\d+\.\d\d)$", r'\1 = Money.of("\2")'),
    (r"\b0\.0\b", "ZERO"),
]
REPOSITORY = [
    (r'"(\w+)": round\((one\.\w+), 2\)', r'"\1_cents": \2.cents'),
    (r'float\(record\["(\w+)"\]\)', r'stored(record, "\1")'),
]
API = [
    (r'f"\{([\w.()]+):\.2f\}"', r"str(\1)"),
    (r'float\(payload\["(\w+)"\]\)', r'Money.of(payload["\1"])'),
    (r'float\(payload\.get\("(\w+)", 0\)\)', r'Money.of(payload.get("\1", "0"))'),
]
TABLE = [
    (r'f"\{([\w.()]+):\.2f\}"', r"str(\1)"),
    (r"f\"\{sums\['(\w+)'\]:\.2f\}\"", r'str(sums["\1"])'),
]
TESTS = [
    (r"(?<=\w)=(\d+\.\d)\b(?!\d)", r'=Money.of("\g<1>0")'),
    (r"(?<=\w)=(\d+\.\d\d)\b", r'=Money.of("\1")'),
    (r"assert(?:Almost)?Equal\((.+), (\d+\.\d)\)$", r'assertEqual(\1, Money.of("\g<2>0"))'),
    (r"assert(?:Almost)?Equal\((.+), (\d+\.\d\d)\)$", r'assertEqual(\1, Money.of("\2"))'),
]
FILES = {"models.py": MODELS, "service.py": SERVICE, "repository.py": REPOSITORY, "api.py": API, "table.py": TABLE}


def converted(text: str, rules) -> str:
    for pattern, replacement in rules:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return with_import(text)


def with_import(text: str) -> str:
    names = [name for name in ("ZERO", "Money", "stored") if re.search(rf"\b{name}\b", text)]
    if not names or "from shared.money" in text:
        return text
    lines = text.split("\n")
    last = max(number for number, line in enumerate(lines) if re.match(r"(from|import) ", line))
    before = [number for number, line in enumerate(lines) if line.startswith("from shared.") and line > "from shared.money"]
    place = before[0] if before else last + 1
    own = lines[last].startswith("from ") and not lines[last].startswith(("from dataclasses", "from datetime"))
    blank = [] if own or before else [""]
    return "\n".join([*lines[:place], *blank, f"from shared.money import {', '.join(names)}", *lines[place:]])


for name in sys.argv[1:]:
    for path, rules in [(Path(name, file), rules) for file, rules in FILES.items()] + [(Path("tests", f"test_{name}.py"), TESTS)]:
        path.write_text(converted(path.read_text(), rules))
    print("converted", name)
