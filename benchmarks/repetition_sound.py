"""Sound agent work of further kinds, drawn with a fixed seed and committed before a rule was changed.

Every text says something new in each line or shows a state that moves, as people and tools write it: lists and logs in
other languages, polling, dialogue, verse, subtitles, calendars, dumps. Words are those of the sentences of
`repetition_unseen` and short lists of our own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from benchmarks.repetition_machine import Found
from benchmarks.repetition_unseen import _SAID as SAID

PER_KIND = 16
THINGS = [
    "pump",
    "valve",
    "ledger",
    "oven",
    "turbine",
    "kettle",
    "orchard",
    "harbour",
    "bridge",
    "violin",
    "compass",
    "lantern",
    "saddle",
    "anchor",
    "bakery",
    "glacier",
    "meadow",
    "copper",
    "marble",
    "quartz",
    "linen",
    "saffron",
    "thistle",
    "walnut",
    "falcon",
    "otter",
    "badger",
    "heron",
    "salmon",
    "beetle",
]
PEOPLE = [
    "Ana",
    "Bao",
    "Chidi",
    "Dana",
    "Emre",
    "Femi",
    "Gita",
    "Hana",
    "Ivo",
    "Jun",
    "Kira",
    "Lena",
    "Milo",
    "Nia",
    "Oren",
    "Pia",
]
ACTS = [
    "opens",
    "closes",
    "lifts",
    "paints",
    "counts",
    "weighs",
    "moves",
    "cleans",
    "checks",
    "orders",
    "drops",
    "mends",
    "sells",
    "wraps",
]
WHERE = [
    "by the window",
    "near the gate",
    "in the cellar",
    "before noon",
    "after the rain",
    "without a word",
    "for the third time",
]
FIXED: dict[str, str] = {
    "Spanish": "{n}. Corregí el error de tipo en la línea {m} de `{t}.py`",
    "German": "{n}. Typfehler in Zeile {m} von `{t}.py` behoben",
    "Russian": "{n}. Исправил ошибку типа в строке {m} файла `{t}.py`",
    "Chinese": "{n}. ✅ 修复了 `{t}.py` 第 {m} 行的类型错误",
    "Japanese": "{n}. `{t}.py` の {m} 行目の型エラーを修正しました",
    "Korean": "{n}. `{t}.py` {m}번째 줄의 타입 오류를 고쳤습니다",
    "Hindi": "{n}. `{t}.py` की पंक्ति {m} में टाइप की गलती ठीक की",
    "Arabic": "{n}. أصلحت خطأ النوع في السطر {m} من `{t}.py`",
}


def _one(rng: random.Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(ACTS)} the {rng.choice(THINGS)} {rng.choice(WHERE)}"


def fixes(rng: random.Random) -> str:
    """A list of what was mended, in another language; only line and file differ."""
    line = rng.choice(list(FIXED.values()))
    return "".join(
        line.format(n=n, m=rng.randint(2, 900), t=rng.choice(THINGS)) + "\n"
        for n in range(1, rng.randint(9, 30))
    )


def same_file(rng: random.Random) -> str:
    line, thing, at, out = rng.choice(list(FIXED.values())), rng.choice(THINGS), 3, []
    for n in range(1, rng.randint(8, 22)):
        at += rng.randint(1, 70)
        out.append(line.format(n=n, m=at, t=thing) + "\n")
    return "".join(out)


def waiting(rng: random.Random) -> str:
    """Asks a service until it answers."""
    tries, what = rng.randint(8, 24), rng.choice(THINGS)
    out = f"$ until curl -sf http://127.0.0.1:8080/{what}; do sleep 5; done\n"
    for _n in range(tries):
        out += f"curl: (7) Failed to connect to 127.0.0.1 port 8080 after {rng.randint(0, 3)} ms: Couldn't connect to server\n"
    return out + '{"status": "ok"}\n'


def job_states(rng: random.Random) -> str:
    jobs = rng.sample(THINGS, 4)
    at = dict.fromkeys(jobs, 0)
    out = ""
    for minute in range(14):
        for job in jobs:
            at[job] = min(100, at[job] + rng.randint(0, 15))
        out += f"10:{minute:02d}  " + "  ".join(f"{job}: {at[job]:3d} %" for job in jobs) + "\n"
    return out


def squeue(rng: random.Random) -> str:
    jobs = [(rng.randint(10_000, 99_999), rng.choice(THINGS), rng.choice(PEOPLE).lower()) for _ in range(3)]
    out = ""
    for look in range(9):
        out += "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        for job, name, user in jobs:
            state = "PD" if look < 3 else " R"
            took = "0:00" if look < 3 else f"{look - 3}:{rng.randint(10, 59)}"
            out += f"{job:18d}       gpu {name:>8s} {user:>8s} {state} {took:>10s}      1 (node{job % 7})\n"
    return out


def tail_log(rng: random.Random) -> str:
    out = ""
    for n in range(70):
        out += f"Mar {3 + n // 50:2d} 04:{n % 60:02d}:{rng.randint(10, 59)} web{rng.randint(1, 3)} nginx[{rng.randint(900, 999)}]: upstream timed out (110: Connection timed out) while reading {rng.choice(THINGS)}\n"
    return out


def health(rng: random.Random) -> str:
    return "".join(
        f'INFO:     10.0.{rng.randint(0, 3)}.{rng.randint(2, 250)}:{rng.randint(30000, 60000)} - "GET /health HTTP/1.1" 200 OK\n'
        for _ in range(50)
    )


def subtitles(rng: random.Random) -> str:
    said = rng.choice(list(SAID.values()))
    lines = [*said, *(_one(rng) for _ in range(20))]
    return "".join(
        f"{n}\n00:{n // 20:02d}:{n * 3 % 60:02d},{rng.randint(100, 999)} --> 00:{n // 20:02d}:{(n * 3 + 2) % 60:02d},{rng.randint(100, 999)}\n{line}\n\n"
        for n, line in enumerate(lines, 1)
    )


def calendar(rng: random.Random) -> str:
    return "".join(
        f"BEGIN:VEVENT\nUID:{rng.getrandbits(64):016x}\nDTSTART:202603{n % 28 + 1:02d}T{rng.randint(8, 17):02d}0000Z\nSUMMARY:{_one(rng)}\nEND:VEVENT\n"
        for n in range(25)
    )


def dialogue(rng: random.Random) -> str:
    a, b = rng.sample(PEOPLE, 2)
    answers = ("Yes.", "No.", "Not yet.", "I think so.", "Ask again tomorrow.")
    return "".join(
        f"{a}: Have you seen who {rng.choice(ACTS)} the {rng.choice(THINGS)} {rng.choice(WHERE)}?\n{b}: {rng.choice(answers)}\n"
        for _ in range(25)
    )


def verse(rng: random.Random) -> str:
    """A cumulative song: each verse repeats those before."""
    lines = [
        f"the {rng.choice(THINGS)} that {rng.choice(PEOPLE)} {rng.choice(ACTS)} {rng.choice(WHERE)},"
        for _ in range(8)
    ]
    return "".join("This is " + "\n".join(lines[n::-1]) + "\nand that is all I know.\n\n" for n in range(8))


def litany(rng: random.Random) -> str:
    return "".join(f"For the {thing}, we give thanks.\n" for thing in rng.sample(THINGS, 24))


def interview(rng: random.Random) -> str:
    return "\n\n".join(
        f"**{n}. What happened to the {thing}?**\n\n{_one(rng)}, and {_one(rng)}. The {thing} was mended later."
        for n, thing in enumerate(rng.sample(THINGS, 18), 1)
    )


def commits(rng: random.Random) -> str:
    kinds = ("feat", "fix", "docs", "chore", "test")
    return "".join(
        f"{rng.getrandbits(28):07x} {rng.choice(kinds)}({rng.choice(THINGS)}): {rng.choice(ACTS)} the {rng.choice(THINGS)}\n"
        for _ in range(60)
    )


def hexdump(rng: random.Random) -> str:
    rows = (f"{n * 16:08x}  " + " ".join(f"{rng.getrandbits(8):02x}" for _ in range(16)) for n in range(60))
    return "\n".join(f"{row}  |................|" for row in rows) + "\n"


def dictionary(rng: random.Random) -> str:
    said = [sentence for sentences in SAID.values() for sentence in sentences[2:4]]
    return "".join(
        f"**{rng.choice(THINGS)}** (noun). Example: {sentence}\n" for sentence in rng.sample(said, 25)
    )


def plan_again(rng: random.Random) -> str:
    """The agent shows its plan after each task; one more is done each time."""
    tasks = [_one(rng) for _ in range(7)]
    out = ""
    for done in range(1, 8):
        out += f"Task {done} is done: {_one(rng)}.\n\n"
        out += "".join(f"{'✅' if n < done else '⬜'} {task}\n" for n, task in enumerate(tasks)) + "\n"
    return out


def licences(rng: random.Random) -> str:
    return "".join(
        f"{thing} {rng.randint(1, 9)}.{rng.randint(0, 20)}\nCopyright (c) {rng.randint(1999, 2025)} {rng.choice(PEOPLE)}\nLicensed under the MIT License. The full text is in licences/{thing}.txt\n\n"
        for thing in rng.sample(THINGS, 20)
    )


def parallel(rng: random.Random) -> str:
    """One thought in two languages, sentence by sentence."""
    a, b = rng.sample(list(SAID.values()), 2)
    return "".join(f"{one}\n{other}\n\n" for one, other in zip(a, b, strict=True))


def words_of_each(rng: random.Random) -> str:
    """One sentence in every language."""
    at = rng.randrange(8)
    return "".join(f"- {script}: {said[at]}\n" for script, said in SAID.items())


def assertions(rng: random.Random) -> str:
    return "".join(
        f"expect(screen.getByText('{rng.choice(THINGS)}')).toHaveAttribute('data-{rng.choice(THINGS)}', '{rng.randint(1, 99)}');\n"
        for _ in range(40)
    )


def rows(rng: random.Random) -> str:
    return "".join(
        f"('{rng.choice(PEOPLE)}', '{rng.choice(THINGS)}', {rng.randint(1, 999)}, '2026-0{rng.randint(1, 9)}-{rng.randint(10, 28)}'),\n"
        for _ in range(70)
    )


def steps(rng: random.Random) -> str:
    return "".join(
        f"### Step {n}: {_one(rng)}\n\nRun `make {rng.choice(THINGS)}` and check that the output is as before.\n\n"
        for n in range(1, 16)
    )


def scores(rng: random.Random) -> str:
    return "".join(
        f"Trial {n}: accuracy {rng.uniform(0.6, 0.95):.4f}, loss {rng.uniform(0.1, 2):.4f}, best so far {rng.uniform(0.9, 0.96):.4f}\n"
        for n in range(1, 60)
    )


def reading(rng: random.Random) -> str:
    """An agent says which file comes next."""
    return "".join(
        f"Now let me check `{rng.choice(THINGS)}/{rng.choice(THINGS)}.rs`, which {rng.choice(ACTS)} the {rng.choice(THINGS)}.\n"
        for _ in range(22)
    )


KINDS: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "fixes": (fixes, "list"),
    "fixes of a file": (same_file, "list"),
    "plan again": (plan_again, "list"),
    "licences": (licences, "list"),
    "languages": (words_of_each, "list"),
    "commits": (commits, "list"),
    "steps": (steps, "list"),
    "waiting": (waiting, "polling"),
    "job states": (job_states, "polling"),
    "squeue": (squeue, "polling"),
    "log": (tail_log, "log"),
    "health": (health, "log"),
    "trials": (scores, "log"),
    "dialogue": (dialogue, "prose"),
    "cumulative song": (verse, "prose"),
    "litany": (litany, "prose"),
    "interview": (interview, "prose"),
    "dictionary": (dictionary, "prose"),
    "two languages": (parallel, "prose"),
    "reading": (reading, "prose"),
    "subtitles": (subtitles, "data"),
    "calendar": (calendar, "data"),
    "hex dump": (hexdump, "data"),
    "rows": (rows, "data"),
    "expectations": (assertions, "code"),
}


def drawn() -> Iterator[Found]:
    for kind, (make, group) in KINDS.items():
        for number in range(PER_KIND):
            yield Found(group, f"{kind}/{number}", make(random.Random(f"sound 5/{kind}/{number}")))
