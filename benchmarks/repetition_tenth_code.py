"""The families of the tenth set that stand in code and in the arguments of tools."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count, cycle

from benchmarks.repetition_tenth_words import FILES, NAMES

Pieces = tuple[str, Iterator[str], int]
"""(what the model said in good order, the pieces of the loop, how many of them are new)"""
Draw = Callable[[random.Random, list[str]], Pieces]


def pool(rng: random.Random, pieces: list[str], ends: tuple[str, ...] = ("",)) -> Iterator[str]:
    while True:
        yield rng.choice(pieces) + rng.choice(ends)


def line_ranges(rng: random.Random, said: list[str]) -> Pieces:
    file, step = rng.choice(FILES), rng.choice((50, 100, 200))
    return (
        '{"command": "',
        (f"sed -n '{n * step + 1},{(n + 1) * step}p' {file} && " for n in count()),
        1,
    )


def name_patterns(rng: random.Random, said: list[str]) -> Pieces:
    globs = [f'-o -name "*.{one}" ' for one in rng.sample("ts tsx js jsx mjs cjs json vue svelte".split(), 5)]
    return '{"command": "find . -type f -name "*.ts" ', pool(rng, globs), 5


def nested_shell(rng: random.Random, said: list[str]) -> Pieces:
    unit = rng.choice(
        ("bash -lc 'cd /app && ", "$(echo ", "sudo sh -c 'exec ", "docker exec -it web sh -c 'cd /srv; ")
    )
    return '{"command": "cd /workspace && ', cycle([unit]), 1


def data_uri(rng: random.Random, said: list[str]) -> Pieces:
    head = "".join(
        rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") for _ in range(90)
    )
    if rng.random() < 0.5:
        return (
            f"<img src='data:image/png;base64,iVBORw0KGgo{head}",
            pool(rng, ["AAAA", "AAAB", "gAAA", "//8A", "AAA8"]),
            0,
        )
    return (
        f"<img src='data:image/png;base64,iVBORw0KGgo{head}",
        cycle([rng.choice(("QkJC", "8fHx8f", "gICAgICA"))]),
        1,
    )


def design_tokens(rng: random.Random, said: list[str]) -> Pieces:
    name = rng.choice(("gray", "spacing", "z-index", "radius"))
    value = rng.choice(("#f5f5f5", "var(--base)", "1rem", "0"))
    return (
        ":root {\n  --font: system-ui, sans-serif;\n  --accent: #2f6feb;\n",
        (f"  --{name}-{100 * n}: {value};\n" for n in count(1)),
        1,
    )


def prefixes(rng: random.Random, said: list[str]) -> Pieces:
    sides = rng.sample(("-webkit-", "-moz-", "-ms-", "-o-", ""), 4)
    lines = [f"  {one}{rng.choice(('transition: all 0.3s ease', 'user-select: none'))};\n" for one in sides]
    return ".card {\n  display: flex;\n  padding: 12px 16px;\n", pool(rng, lines), 4


def breakpoints(rng: random.Random, said: list[str]) -> Pieces:
    body = rng.choice(
        (".sidebar {\n    display: none;\n  }", ".grid {\n    grid-template-columns: 1fr;\n  }")
    )
    return (
        "/* layout */\n.grid {\n  display: grid;\n  gap: 8px;\n}\n\n",
        (f"@media (max-width: {1200 - n}px) {{\n  {body}\n}}\n\n" for n in count()),
        1,
    )


def hooks(rng: random.Random, said: list[str]) -> Pieces:
    names = rng.sample("useState useEffect useCallback useMemo useRef useContext useReducer".split(), 5)
    return "import React, { ", pool(rng, names, (", ",)), 5


def parameter_rows(rng: random.Random, said: list[str]) -> Pieces:
    name = rng.choice(NAMES)
    return (
        f"import pytest\n\nfrom app.text import {name}\n\n\n@pytest.mark.parametrize(\n    ('given', 'expected'),\n    [\n        ('', ''),\n        ('Ab c', 'ab-c'),\n",
        (f"        ('input{n}', 'output{n}'),\n" for n in count(1)),
        1,
    )


def licence_years(rng: random.Random, said: list[str]) -> Pieces:
    who = rng.choice(("The Project Authors", "Example Corp.", "the original author or authors"))
    return (
        "// SPDX-License-Identifier: Apache-2.0\n",
        (f"// Copyright {n} {who}. All rights reserved.\n" for n in count(2009)),
        1,
    )


def licence_again(rng: random.Random, said: list[str]) -> Pieces:
    text = (
        '/*\n * Licensed under the Apache License, Version 2.0 (the "License");\n * you may not use this file except in compliance with the License.\n'
        " * You may obtain a copy of the License at\n *\n *     http://www.apache.org/licenses/LICENSE-2.0\n */\n\n"
    )
    return "package com.example.store;\n\n", cycle([text]), 1


def docstring(rng: random.Random, said: list[str]) -> Pieces:
    lines = [
        f"        {one}: The {one.replace('_', ' ')} of the request.\n"
        for one in rng.sample(NAMES, rng.randint(3, 5))
    ]
    return (
        f'def {rng.choice(NAMES)}(request, **options):\n    """Handle one request.\n\n    Args:\n',
        pool(rng, lines),
        len(lines),
    )


def schema_fields(rng: random.Random, said: list[str]) -> Pieces:
    return (
        '{"type": "object", "properties": {"name": {"type": "string"}, ',
        (f'"field{n}": {{"type": "string", "description": "The field {n}."}}, ' for n in count(1)),
        1,
    )


def variables(rng: random.Random, said: list[str]) -> Pieces:
    name = rng.choice(("CONFIG", "ENV_VAR", "SECRET_KEY"))
    return (
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: web:1.4\n        env:\n",
        (f'        - name: {name}_{n}\n          value: "value{n}"\n' for n in count(1)),
        1,
    )


def seed_rows(rng: random.Random, said: list[str]) -> Pieces:
    return (
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, mail TEXT);\n",
        (f"INSERT INTO users VALUES ({n}, 'user{n}', 'user{n}@example.com');\n" for n in count(1)),
        1,
    )


def closing_tags(rng: random.Random, said: list[str]) -> Pieces:
    if rng.random() < 0.5:
        return (
            "<main>\n  <section>\n    <h1>Orders</h1>\n",
            pool(rng, ["</div>\n", "</section>\n", "</main>\n"], ("", "  ")),
            3,
        )
    return (
        "<main>\n  <section>\n    <h1>Orders</h1>\n",
        ("  " * max(0, 40 - n) + "</div>\n" for n in count()),
        1,
    )


def brackets(rng: random.Random, said: list[str]) -> Pieces:
    return (
        '{"plan": [{"step": 1, "files": [{"path": "a.py", "edits": [',
        pool(rng, ["}", "]", "}]", "]}", "}}"], ("", "", "\n")),
        0,
    )


def query_string(rng: random.Random, said: list[str]) -> Pieces:
    parts = rng.sample(("utm_source=mail", "utm_medium=link", "lang=en", "ref=home", "page=1", "sort=asc"), 4)
    return "See https://example.com/shop/list?", pool(rng, parts, ("&",)), 4


def generics(rng: random.Random, said: list[str]) -> Pieces:
    unit = rng.choice(("Map<String, List<", "Promise<Array<", "Option<Box<", "std::vector<std::pair<int, "))
    return "public class Store {\n    private final ", cycle([unit]), 1


def camel_case(rng: random.Random, said: list[str]) -> Pieces:
    parts = rng.sample("Manager Handler Controller Factory Service Provider Adapter".split(), 4)
    return "package com.example.order;\n\npublic class Order", pool(rng, parts), 4


def hunks(rng: random.Random, said: list[str]) -> Pieces:
    return (
        "--- a/src/api.py\n+++ b/src/api.py\n",
        (
            f"@@ -{n},7 +{n},7 @@\n     try:\n-        return fetch(url)\n+        return fetch(url, timeout=30)\n     except OSError:\n"
            for n in count(12, rng.randint(5, 20))
        ),
        1,
    )


def accessors(rng: random.Random, said: list[str]) -> Pieces:
    return (
        "public class Record {\n    private String name;\n\n    public String getName() {\n        return name;\n    }\n\n",
        (f"    public String getField{n}() {{\n        return field{n};\n    }}\n\n" for n in count(1)),
        1,
    )


def members(rng: random.Random, said: list[str]) -> Pieces:
    name = rng.choice(("ERROR_CODE", "STATE", "RESERVED"))
    return (
        "enum Code {\n    OK = 0,\n    NOT_FOUND = 1,\n",
        (f"    {name}_{n} = {n},\n" for n in count(2)),
        1,
    )


def switch(rng: random.Random, said: list[str]) -> Pieces:
    return (
        "const char *name_of(int code) {\n    switch (code) {\n",
        (f'    case {n}:\n        return "{rng.choice(("unknown", "reserved"))}";\n' for n in count(1)),
        1,
    )


def stubs(rng: random.Random, said: list[str]) -> Pieces:
    return (
        "class Client:\n    def connect(self):\n        self.socket = open_socket(self.host)\n\n",
        (
            f"    def method_{n}(self):\n        # TODO: implement this method\n        pass\n\n"
            for n in count(1)
        ),
        1,
    )
