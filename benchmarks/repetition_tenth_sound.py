"""Sound texts beside the tenth set: 33 kinds of ten, with something new in each piece.

They take the forms of its loops: plans of sixty numbered lines, logs, polls, members of an enumeration, refrains, litanies,
clauses of a contract, moves of a game, migrations, edits that an agent tells one after another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from benchmarks.repetition_machine import Found
from benchmarks.repetition_tenth_words import FILES, NAMES, PLACES, SAINTS, THINGS, VERBS, VOICES, WHO, WHY

Make = Callable[[random.Random], str]


def _say(rng: random.Random) -> str:
    return f"{rng.choice(VERBS)} {rng.choice(THINGS)} {rng.choice(WHY)}"


def _lines(rng: random.Random, least: int, most: int, say: Callable[[int], str]) -> str:
    return "".join(say(n) for n in range(1, rng.randint(least, most) + 1))


def _time(seconds: int) -> str:
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _plan_of_sixty(rng: random.Random) -> str:
    return "Here is the plan:\n\n" + _lines(rng, 55, 65, lambda n: f"{n}. {_say(rng).capitalize()}.\n")


def _short_plan(rng: random.Random) -> str:
    file = FILES * 4
    return _lines(rng, 50, 60, lambda n: f"{n}. Update {file[n]}: {rng.choice(VERBS)} {rng.choice(NAMES)}\n")


def _changelog(rng: random.Random) -> str:
    return "# Changelog\n\n" + _lines(
        rng,
        8,
        20,
        lambda n: (
            f"## 2.{30 - n}.0 (2025-{n % 12 + 1:02d}-{rng.randint(1, 28):02d})\n\n### Fixed\n\n- {_say(rng).capitalize()} (#{rng.randint(100, 9999)})\n- {_say(rng).capitalize()} (#{rng.randint(100, 9999)})\n\n"
        ),
    )


def _syslog(rng: random.Random) -> str:
    said = (
        "Started session {0} of user {1}.",
        "Removed session {0}.",
        "Accepted publickey for {1} from 10.0.{0}.7 port {2}",
        "{1}: quota at {0} %",
        "Reached target {1}-{0}.service",
    )
    at = rng.randint(0, 80000)
    return _lines(
        rng,
        30,
        80,
        lambda n: (
            f"Mar 14 {_time(at + 17 * n + rng.randint(0, 9))} web-{rng.randint(1, 4)} daemon[{rng.randint(300, 9000)}]: {rng.choice(said).format(rng.randint(1, 250), rng.choice(WHO).lower(), rng.randint(1024, 65535))}\n"
        ),
    )


def _access_log(rng: random.Random) -> str:
    return _lines(
        rng,
        30,
        80,
        lambda n: (
            f'10.2.{rng.randint(0, 255)}.{rng.randint(0, 255)} - - [14/Mar/2026:{_time(3 * n)} +0000] "{rng.choice(("GET", "GET", "POST"))} /{rng.choice(NAMES).replace("_", "/")}/{rng.randint(1, 9999)} HTTP/1.1" {rng.choice((200, 200, 304, 404, 500))} {rng.randint(90, 90000)}\n'
        ),
    )


def _pods(rng: random.Random) -> str:
    names = [
        f"{one}-{rng.randrange(16**5):05x}" for one in rng.sample("web api worker cron mail cache".split(), 5)
    ]
    out = []
    for n in range(rng.randint(5, 12)):
        out.append("$ kubectl get pods\nNAME READY STATUS RESTARTS AGE\n")
        for at, one in enumerate(names):
            state = "Running" if n > at else "ContainerCreating"
            out.append(f"{one} {int(n > at)}/1 {state} 0 {10 * n + at}s\n")
    return "".join(out) + "All pods are running.\n"


def _polling(rng: random.Random) -> str:
    done = 0
    out = ["The build was queued. I'll poll until it ends.\n"]
    while done < 100:
        done = min(100, done + rng.randint(2, 7))
        out.append(f"Still running: {done} % done, {rng.randint(1, 40)} jobs left.\n")
    return "".join(out) + "The build is green.\n"


def _pytest(rng: random.Random) -> str:
    return _lines(
        rng,
        30,
        70,
        lambda n: (
            f"tests/test_{rng.choice(NAMES)}.py::test_{rng.choice(VERBS)}_{rng.choice(NAMES)}[{rng.choice(PLACES)}] {rng.choice(('PASSED', 'PASSED', 'PASSED', 'SKIPPED', 'FAILED'))} [{n:3d}%]\n"
        ),
    )


def _migrations(rng: random.Random) -> str:
    kinds = ("text", "integer NOT NULL DEFAULT 0", "timestamptz", "boolean", "jsonb", "numeric(12, 2)")
    return _lines(
        rng,
        15,
        40,
        lambda n: (
            f"ALTER TABLE {rng.choice(NAMES).split('_')[1]}s ADD COLUMN {rng.choice(NAMES)} {rng.choice(kinds)};\n"
            if rng.random() < 0.7
            else f"CREATE INDEX {rng.choice(NAMES)}_{n} ON {rng.choice(NAMES).split('_')[1]}s ({rng.choice(NAMES)});\n"
        ),
    )


def _song(rng: random.Random) -> str:
    refrain = f"Oh, {rng.choice(PLACES)}, sing me home,\noh, {rng.choice(PLACES)}, sing me home,\nover the hills and over the foam,\nsing me, sing me home.\n\n"
    return _lines(
        rng,
        3,
        5,
        lambda n: (
            f"{rng.choice(WHO)} went down to {rng.choice(PLACES)} town,\nto {_say(rng)},\n{rng.choice(WHO)} came back to {rng.choice(PLACES)} town,\n{rng.choice(WHY)}.\n\n{refrain}"
        ),
    )


def _bottles(rng: random.Random) -> str:
    many = "No One Two Three Four Five Six Seven Eight Nine Ten".split()
    thing = rng.choice(("green bottles", "red lanterns", "tin soldiers", "paper boats"))
    return "".join(
        f"{many[n]} {thing} hanging on the wall,\n{many[n]} {thing} hanging on the wall,\nAnd if one of them should accidentally fall,\nThere'll be {many[n - 1].lower()} {thing} hanging on the wall.\n\n"
        for n in range(rng.randint(5, 10), 0, -1)
    )


def _litany(rng: random.Random) -> str:
    return "".join(f"Saint {one}, pray for us.\n" for one in rng.sample(SAINTS, rng.randint(12, 17)))


def _contract(rng: random.Random) -> str:
    parties = ("The Supplier", "The Customer", "Each party", "The Agent")
    return _lines(
        rng,
        12,
        30,
        lambda n: (
            f"{n // 6 + 1}.{n % 6 + 1} {rng.choice(parties)} shall {_say(rng)}, and {rng.choice(parties).lower()} shall not {_say(rng)}, save as set out in clause {rng.randint(1, 9)}.{rng.randint(1, 6)}.\n"
        ),
    )


def _chess(rng: random.Random) -> str:
    def move() -> str:
        return (
            rng.choice("NBRQK") + rng.choice("abcdefgh") + rng.choice("12345678")
            if rng.random() < 0.7
            else rng.choice("abcdefgh") + rng.choice("3456")
        )

    return _lines(rng, 30, 80, lambda n: f"{n}. {move()} {move()} ")


def _enumeration(rng: random.Random) -> str:
    names = rng.sample(NAMES, 24)
    return "enum Kind {\n" + "".join(f"    {one.upper()} = {n},\n" for n, one in enumerate(names)) + "};\n"


def _keys(rng: random.Random) -> str:
    last, start = rng.randint(12, 24), rng.choice((1, 0x70, 290))
    return "enum Key {\n" + "".join(f"    KEY_F{n} = {start + n},\n" for n in range(1, last + 1)) + "};\n"


def _properties(rng: random.Random) -> str:
    kinds = ("String", "int", "boolean", "LocalDate", "BigDecimal")
    return (
        "public class Row {\n"
        + _lines(
            rng,
            10,
            24,
            lambda n: "    public {} get{}() {{\n        return {};\n    }}\n\n".format(
                rng.choice(kinds), (name := rng.choice(NAMES)).title().replace("_", ""), name
            ),
        )
        + "}\n"
    )


def _css(rng: random.Random) -> str:
    rules = (
        "display: flex",
        "padding: {0}px {1}px",
        "color: #{2:06x}",
        "margin-top: {0}px",
        "border-radius: {1}px",
        "width: {0}%",
        "gap: {1}px",
        "font-size: {0}px",
    )
    return _lines(
        rng,
        12,
        30,
        lambda n: (
            f".{rng.choice(NAMES).replace('_', '-')} {{\n"
            + "".join(
                f"  {one.format(rng.randint(1, 64), rng.randint(1, 32), rng.randrange(16**6))};\n"
                for one in rng.sample(rules, rng.randint(2, 5))
            )
            + "}\n\n"
        ),
    )


def _translations(rng: random.Random) -> str:
    pairs = [
        f'    "{name}.{n}": "{one}"'
        for name in rng.sample(list(VOICES), 7)
        for n, one in enumerate(VOICES[name])
    ]
    return "{\n" + ",\n".join(pairs) + "\n}\n"


def _interview(rng: random.Random) -> str:
    return _lines(
        rng,
        8,
        16,
        lambda n: (
            f"Q: How did you {_say(rng)}?\nA: We had to {_say(rng)}, and then {rng.choice(WHO)} could {_say(rng)}.\n\n"
        ),
    )


def _quiz(rng: random.Random) -> str:
    return _lines(
        rng,
        10,
        25,
        lambda n: (
            f"{n}. Who wanted to {_say(rng)}?\nA) {rng.choice(WHO)}\nB) {rng.choice(WHO)}\nC) {rng.choice(WHO)}\nAnswer: {rng.choice('ABC')}\n\n"
        ),
    )


def _edits(rng: random.Random) -> str:
    heads = ("Now let me", "Next, I'll", "I'll", "Then I have to", "Let me")
    return _lines(
        rng,
        25,
        45,
        lambda n: f"{rng.choice(heads)} {rng.choice(VERBS)} {rng.choice(THINGS)} in `{rng.choice(FILES)}`. ",
    )


def _thinking(rng: random.Random) -> str:
    heads = ("Wait, ", "Hmm, ", "Actually, ", "But ", "So ", "Let me check: ", "Okay, ")
    return _lines(
        rng,
        20,
        40,
        lambda n: (
            f"{rng.choice(heads)}{rng.choice(THINGS)} cannot {rng.choice(VERBS)} {rng.choice(THINGS)} {rng.choice(WHY)}; `{rng.choice(NAMES)}` in {rng.choice(FILES)}:{rng.randint(10, 900)} says otherwise. "
        ),
    )


def _test_rows(rng: random.Random) -> str:
    return (
        "CASES = [\n"
        + _lines(
            rng,
            20,
            50,
            lambda n: (
                f'    ("{rng.choice(PLACES)} {rng.choice(WHO)}", {rng.randint(-99, 999)}, "{rng.choice(NAMES)}", {rng.choice(("True", "False", "None"))}),\n'
            ),
        )
        + "]\n"
    )


def _inserts(rng: random.Random) -> str:
    return _lines(
        rng,
        12,
        40,
        lambda n: (
            f"INSERT INTO members VALUES ({n}, '{rng.choice(WHO)}', '{rng.choice(PLACES)}', '19{rng.randint(50, 99)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}', {rng.randint(10, 9999) / 100});\n"
        ),
    )


def _environment(rng: random.Random) -> str:
    names = rng.sample(NAMES, rng.randint(12, 26))
    return "env:\n" + "".join(
        f'- name: {one.upper()}\n  value: "{rng.choice(PLACES).lower()}-{rng.randint(1, 99)}"\n'
        for one in names
    )


def _git_log(rng: random.Random) -> str:
    return _lines(
        rng,
        15,
        30,
        lambda n: (
            f"commit {rng.randrange(16**40):040x}\nAuthor: {(who := rng.choice(WHO))} <{who.lower()}@example.org>\nDate:   Mar {rng.randint(1, 28)} {_time(rng.randint(0, 80000))} 2026 +0100\n\n    {_say(rng).capitalize()}\n\n"
        ),
    )


def _hex_dump(rng: random.Random) -> str:
    return _lines(
        rng,
        30,
        60,
        lambda n: (
            f"{16 * n:08x}  "
            + " ".join(f"{rng.randrange(256) if rng.random() < 0.6 else 0:02x}" for _ in range(16))
            + "\n"
        ),
    )


def _docker(rng: random.Random) -> str:
    return _lines(
        rng,
        20,
        40,
        lambda n: (
            f" => [{rng.choice(('build', 'deps', 'final'))} {n}/40] {rng.choice(('RUN apt-get install -y', 'COPY', 'RUN pip install', 'RUN npm ci --prefix'))} {rng.choice(NAMES).replace('_', '-')} {rng.randint(0, 90)}.{rng.randint(0, 9)}s\n"
        ),
    )


def _minutes(rng: random.Random) -> str:
    return _lines(
        rng,
        10,
        24,
        lambda n: (
            f"{_time(540 * 60 + 240 * n)[:5]} {rng.choice(WHO)} asked to {_say(rng)}. {rng.choice(WHO)} agreed to {rng.choice(VERBS)} it by {rng.choice(PLACES)} time. "
        ),
    )


def _tables(rng: random.Random) -> str:
    rows = rng.randint(10, 16)
    return "".join("| " + " | ".join(f"{a * b:3d}" for b in range(1, 13)) + " |\n" for a in range(1, rows))


def _verbs(rng: random.Random) -> str:
    stems = rng.sample(["habl", "cant", "am", "trabaj", "busc", "camin", "mir", "entr", "llev", "pas"], 6)
    ends = (
        ("yo", "o"),
        ("tú", "as"),
        ("él", "a"),
        ("nosotros", "amos"),
        ("vosotros", "áis"),
        ("ellos", "an"),
    )
    return "".join(
        f"**{stem}ar**\n\n" + "".join(f"- {who} {stem}{end}\n" for who, end in ends) + "\n" for stem in stems
    )


def _reviewed(rng: random.Random) -> str:
    return "".join(
        f"✅ `{one}`: {_say(rng)}. No further issues.\n" for one in rng.sample(FILES, rng.randint(10, 18))
    )


SOUND: dict[str, Make] = {
    name[1:]: make
    for name, make in list(globals().items())
    if name.startswith("_")
    and callable(make)
    and getattr(make, "__module__", "") == __name__
    and name not in ("_say", "_lines", "_time")
}


def drawn(seed: str) -> Iterator[Found]:
    for name, make in SOUND.items():
        for number in range(10):
            rng = random.Random(f"{seed}/{name}/{number}")
            yield Found(name.replace("_", " "), f"{name}/{number}", make(rng))
