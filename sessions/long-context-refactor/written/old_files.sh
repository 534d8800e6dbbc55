cat > /tmp/write.py <<'EOF'
import importlib, json, sys
from datetime import date
from pathlib import Path
sys.path.insert(0, ".")
for folder in sorted(path.parent.name for path in Path(".").glob("*/repository.py")):
    models, repository, api = (importlib.import_module(f"{folder}.{part}") for part in ("models", "repository", "api"))
    kind = next(one for one in vars(models).values() if getattr(one, "__module__", "") == models.__name__)
    party, charged, added, taken = [name for name in kind.__dataclass_fields__ if name not in ("id", "made", "note", "tags")]
    keep = getattr(repository, f"{kind.__name__}Repository")(Path(f"/tmp/files-{folder}.json"))
    if sys.argv[1] == "write":
        for number, (a, b, c) in enumerate(((19.99, 4.9, 2.5), (0.1, 0.2, 0.0), (1234.56, 0.01, 1000.0))):
            values = {"id": f"X-{number}", party: "Ines", "made": date(2026, 3, 2), charged: a, added: b, taken: c}
            keep.save(kind(**values))
    for one in keep.all():
        print(folder, json.dumps(api.show(one)))
EOF
(cd /tmp/before && python3 /tmp/write.py write > /tmp/api-before) && python3 /tmp/write.py read > /tmp/api-after
wc -l < /tmp/api-after; cmp /tmp/api-before /tmp/api-after && echo "the same bytes"; head -2 /tmp/api-after
