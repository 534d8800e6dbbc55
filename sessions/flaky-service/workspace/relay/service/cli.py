import argparse
from pathlib import Path

from service import server, worker
from service.clock import Clock
from service.store import Store

ROOT = Path(__file__).resolve().parent.parent


def main(argv: list[str], root: Path = ROOT) -> int:
    args = parser().parse_args(argv)
    store = Store(root / ".relay")
    clock = Clock(store.load("clock", 0))
    server.tick(store, clock)
    store.save("clock", clock.now)
    print(COMMANDS[args.command](args, store, clock))
    return 0


def logs(args, store, clock) -> str:
    return "\n".join(store.log_tail(args.n))


def rejected(args, store, clock) -> str:
    job = next((job for job in store.load("jobs", []) if job["id"] == args.job), {"rejected": []})
    return "\n".join(f"row {row}: {reason}" for row, reason in job["rejected"]) or "none"


COMMANDS = {
    "up": lambda args, store, clock: server.start(store, clock),
    "down": lambda args, store, clock: server.stop(store, clock),
    "health": lambda args, store, clock: server.health(store, clock),
    "submit": lambda args, store, clock: f"job {worker.submit(store, clock, args.file)} queued",
    "status": lambda args, store, clock: worker.status(store, args.job),
    "rejected": rejected,
    "logs": logs,
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="relay")
    commands = top.add_subparsers(dest="command", required=True)
    for name in ("up", "down", "health"):
        commands.add_parser(name)
    commands.add_parser("submit").add_argument("file", type=Path)
    for name in ("status", "rejected"):
        commands.add_parser(name).add_argument("job", type=int)
    commands.add_parser("logs").add_argument("-n", type=int, default=10)
    return top
