"""Debugging a service by watching it: polling that makes sense, and once polling that does not.

The same call comes back many times. Nearly always its result has changed; once it has not, and the agent goes on
asking until it notices.
"""

from pathlib import Path

from replayer.tools.toolsets import load
from sessions.script import Call, Say, Session, User, text_in
from sessions.zed import find, grep, ls, read, system_prompt

HERE = Path(__file__).resolve().parent
text = text_in(HERE)

KIT = "zed"
USED = {
    "diagnostics",
    "edit_file",
    "find_path",
    "grep",
    "list_directory",
    "read_file",
    "terminal",
    "write_file",
}
TOOLS = tuple(tool for tool in load(KIT).tools if tool.name in USED)
RULES = (HERE / "workspace/relay/.rules").read_text(encoding="utf-8")


def run(command: str) -> Call:
    return Call("terminal", {"command": command, "cd": "relay"})


def change(path: str, *pairs: tuple[str, str]) -> Call:
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return Call("edit_file", {"path": f"relay/{path}", "edits": edits})


HEALTH = run("./relay health")
FIRST = run("./relay status 1")
SECOND = run("./relay status 2")
THIRD = run("./relay status 3")
TESTS = run("python3 -m unittest 2>&1")

STEPS = (
    User(
        "Two things about `relay`: the import of `data/orders-2.csv` never comes to an end, while `orders-1.csv` is "
        "fine. And sometimes, not always, the service takes far more than half a minute to come up after `./relay "
        "down`. Find out why and fix both, with tests. The README says how to run it here."
    ),
    Say(
        "I'll read how it is run, and what there is.",
        read("relay/README.md"),
        find("**/*.py"),
        ls("relay/data"),
        TESTS,
    ),
    Say(
        "Tests are green, so they miss both problems. I'll start the service and watch it come up.",
        run("./relay up"),
    ),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("Half way; that is the half minute from the README.", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say(
        "Ready after six parts. The file that works first, to know what a healthy import looks like.",
        run("./relay submit data/orders-1.csv"),
    ),
    Say("", FIRST),
    Say("", FIRST),
    Say("", FIRST),
    Say("20 rows at a time, as expected.", FIRST),
    Say("", FIRST),
    Say(
        "That is a healthy one: it moves with every look. Now the file that never ends.",
        run("./relay submit data/orders-2.csv"),
    ),
    Say("", SECOND),
    Say("", SECOND),
    Say("", SECOND),
    Say("", SECOND),
    Say("", SECOND),
    Say("", SECOND),
    Say("", SECOND),
    Say(
        "60 of 150, five times over: it does not move, and asking again will not move it. I stop polling and ask the "
        "log what the service does with the chunk at row 60.",
        run("./relay logs -n 12"),
    ),
    Say(
        "Every five seconds the same chunk fails with a ValueError and is tried again, for ever. The log rightly does not "
        "show the row, so I look at the code and at rows 61 to 80 of the file.",
        read("relay/service/worker.py"),
        read("relay/service/formats.py"),
        run("sed -n '62,81p' data/orders-2.csv | nl -v 62"),
    ),
    Say(
        "Line 69 has no quantity. `order` raises, which is its right, but `import_chunk` lets one bad row take its whole "
        "chunk with it, and `work` catches everything and retries without counting. The rules say that every row is "
        "imported or rejected and that a job ends. First tests that say so.",
        change(
            "tests/test_service.py",
            (
                '        self.assertEqual(len(self.store.load("orders", {})), 50)\n',
                '        self.assertEqual(len(self.store.load("orders", {})), 50)\n'
                + text("tests_import.py"),
            ),
        ),
        TESTS,
    ),
    Say(
        "Both fail for the reason seen. A row that makes no sense is rejected with its line in the file; what fails "
        "three times for any other reason fails the job, so that those behind it get their turn.",
        change(
            "service/worker.py",
            (
                "    orders = [formats.order(row) for row in chunk]\n",
                "    orders = []\n"
                '    for line, row in enumerate(chunk, job["done"] + 2):\n'
                "        try:\n            orders.append(formats.order(row))\n"
                '        except ValueError as error:\n            job["rejected"].append([line, str(error)])\n',
            ),
            (
                "        import_chunk(store, job)\n    except Exception as error:\n"
                "        store.log(clock, \"warn\", f\"job {job['id']}: chunk at {job['done']} failed ({type(error).__name__}), again\")\n",
                '        import_chunk(store, job)\n        job["attempts"] = 0\n    except Exception as error:\n'
                '        job["attempts"] = job.get("attempts", 0) + 1\n'
                '        again = "again" if job["attempts"] < ATTEMPTS else "given up"\n'
                "        store.log(clock, \"warn\", f\"job {job['id']}: chunk at {job['done']} failed ({type(error).__name__}), {again}\")\n"
                '        if job["attempts"] == ATTEMPTS:\n            job["state"] = "failed"\n',
            ),
            ("CHUNK = 20\n", "CHUNK = 20\nATTEMPTS = 3\n"),
        ),
        change(
            "service/formats.py",
            (
                '    quantity = int(row["quantity"])\n',
                '    if not row["quantity"].strip().isdecimal():\n        raise ValueError("quantity is no number")\n'
                '    quantity = int(row["quantity"])\n',
            ),
        ),
        TESTS,
    ),
    Say(
        "Green. The job that hangs is still in the queue with the old state, so it should now go on by itself from row 60.",
        SECOND,
    ),
    Say("It moves, and has passed the bad row.", SECOND, run("./relay rejected 2")),
    Say(
        "Both rows are named, with the reason. Before the job ends, the other problem: I stop the service in the middle of this job, since "
        '"sometimes" may well mean "while a job runs".',
        run("./relay down"),
    ),
    Say("", run("./relay up")),
    Say("", HEALTH),
    Say('"Waiting for the lock of start 1": so that is it. How long does it wait?', HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say(
        "It counts down a lease that nobody holds any more. While it does, the code that should have let it go:",
        grep("lock\\.(acquire|release|holder)|def (acquire|release|holder)", "relay/service/*.py"),
        read("relay/service/server.py", 24, 40),
        read("relay/service/lock.py"),
    ),
    Say(
        "`stop` releases the lock only when no job is running. The comment gives the reason: the chunk in hand is "
        "finished after the next start. But a chunk is imported wholly or not at all, so nothing is in hand when the "
        "service has stopped; the lock protects nobody. After a real crash the lease must still run out. Tests for both:",
        change(
            "tests/test_service.py",
            (
                '        self.assertIn("done", worker.status(self.store, after))\n',
                '        self.assertIn("done", worker.status(self.store, after))\n' + text("tests_lock.py"),
            ),
        ),
        TESTS,
    ),
    Say(
        "The one about stopping fails, the one about a crash passes already, and must go on passing.",
        change(
            "service/server.py",
            (
                "    if running:\n        # the chunk in hand is finished after the next start\n"
                '        store.log(clock, "info", f"stopped with {len(running)} job(s) running")\n'
                '    else:\n        lock.release(store, state["starts"])\n        store.log(clock, "info", "stopped")\n',
                "    # a chunk is imported wholly or not at all, so nothing is left in hand\n"
                '    lock.release(store, state["starts"])\n'
                '    store.log(clock, "info", f"stopped with {len(running)} job(s) running")\n',
            ),
        ),
        TESTS,
    ),
    Say("Now the service, which is still on its way up.", HEALTH),
    Say("", HEALTH),
    Say(
        "Still waiting out the old lock, since that was taken before the fix. I stop it and start again.",
        run("./relay down && ./relay up"),
    ),
    Say("The old lease has ten seconds left, then it should load.", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say(
        "Up again. Now the case that was broken: a stop while a job runs.",
        run("./relay submit data/orders-2.csv && ./relay status 2 && ./relay down && ./relay up"),
    ),
    Say("", HEALTH),
    Say("No lock in the way: it loads at once.", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say("", HEALTH),
    Say(
        "Up in half a minute, with a job waiting. The last look at the import, the whole file this time.",
        THIRD,
    ),
    Say("Past row 60.", THIRD),
    Say("", THIRD),
    Say("", THIRD),
    Say("", THIRD),
    Say("", THIRD, run("./relay rejected 3")),
    Say(
        "Done: 150 of 150 rows, two of them rejected with line and reason (69 has no quantity, 114 has quantity 0).\n\n"
        "- **The import that never ended**: one bad row failed its whole chunk, and a failing chunk was tried again for "
        "ever. Rows that make no sense are rejected now; a chunk that fails three times for another reason fails its job.\n"
        "- **The slow start**: `stop` kept the lock when a job was running, so the next start waited out a lease of 60 "
        "seconds. It lets go now; only a crash still has to be waited out.\n\n"
        "Four tests are new, all pass."
    ),
)

SESSION = Session(
    name="flaky-service",
    title="A service that hangs and starts slowly",
    system=system_prompt("`relay`", RULES),
    tools=TOOLS,
    kit=KIT,
    steps=STEPS,
    check=("sh", "-c", "cd relay && python3 -m unittest && ./relay status 3 | grep -q done"),
    purpose="Polling with changing results, which is no loop, and one true loop that the agent leaves by itself.",
)
