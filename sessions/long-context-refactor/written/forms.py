"""How many forms of each module remain when every department's own names are replaced by common ones?"""

import re
from collections import defaultdict
from pathlib import Path

forms = defaultdict(lambda: defaultdict(list))
for folder in sorted(path.parent for path in Path(".").glob("*/repository.py")):
    models = (folder / "models.py").read_text()
    entity = re.search(r"class (\w+)", models)[1]
    party = re.search(r"    (\w+): str\n    made", models)[1]
    amounts = re.findall(r"    (\w+): float", models)
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        for own, common in [(folder.name, "NAME"), (entity, "ENTITY"), (entity.lower(), "ENTITY"), (party, "PARTY"),
                            *zip(amounts, ("CHARGED", "ADDED", "TAKEN"))]:
            text = re.sub(rf"\b{own}\b", common, text)
        text = re.sub(r'^""".*?"""', "", text.replace(f"{entity}Repository", "Repository"), flags=re.S)
        forms[path.name][text].append(folder.name)
for name, found in forms.items():
    print(f"{name}: {len(found)} form(s)")
    for number, names in enumerate(found.values(), 1):
        print(f"  {number}: {len(names):2} {' '.join(names)}")
