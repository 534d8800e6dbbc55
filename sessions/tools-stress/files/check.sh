#!/bin/sh
# Is the archive in order?
cd "$(dirname "$0")" || exit 1
python3 - <<'EOF'
import json, os, sys, unicodedata

names = sorted(name for name in os.listdir("letters") if name.endswith(".txt"))
wrong = [name for name in names if " " in name or unicodedata.normalize("NFC", name) != name]
index = json.load(open("letters/index.json", encoding="utf-8"))
table = open("letters/目次.md", encoding="utf-8").read()
summary = dict(line.split() for line in open("logs/summary.txt"))
failed = {}
for line in open("logs/access.log"):
    status = line.split()[-2]
    if status != "200":
        failed[status] = failed.get(status, 0) + 1
problems = [
    *(f"file name: {name}" for name in wrong),
    *(["index.json does not list the letters"] if [one["file"] for one in index] != names else []),
    *(f"{one['file']}: {key} is missing" for one in index for key in ("from", "where") if not one.get(key)),
    *(f"not in the table: {one['from']}" for one in index if one["from"] not in table),
    *(["old/ is still there"] if os.path.exists("old") else []),
    *(["the summary is wrong"] if {k: int(v) for k, v in summary.items()} != failed else []),
]
print("\n".join(problems) or "ok")
sys.exit(bool(problems))
EOF
