"""The life of the service: start, load the index, work, stop."""

from service import lock, worker
from service.clock import TICK

INDEX_PARTS = 6


def start(store, clock) -> str:
    state = store.load("state", {"phase": "down", "starts": 0})
    if state["phase"] != "down":
        return f"already {state['phase']}"
    state = {"phase": "starting", "starts": state["starts"] + 1, "loaded": 0}
    store.save("state", state)
    store.log(clock, "info", f"start {state['starts']}")
    return "starting"


def stop(store, clock) -> str:
    state = store.load("state", {"phase": "down", "starts": 0})
    if state["phase"] == "down":
        return "already down"
    running = [job for job in store.load("jobs", []) if job["state"] == "running"]
    if running:
        # the chunk in hand is finished after the next start
        store.log(clock, "info", f"stopped with {len(running)} job(s) running")
    else:
        lock.release(store, state["starts"])
        store.log(clock, "info", "stopped")
    store.save("state", {"phase": "down", "starts": state["starts"]})
    return "down"


def tick(store, clock) -> None:
    """What the service does in the next five seconds."""
    clock.advance(TICK)
    state = store.load("state", {"phase": "down", "starts": 0})
    if state["phase"] == "starting":
        load_index(store, clock, state)
    elif state["phase"] == "ready":
        lock.acquire(store, clock, state["starts"])
        worker.work(store, clock)


def load_index(store, clock, state) -> None:
    if not lock.acquire(store, clock, state["starts"]):
        store.log(clock, "warn", "the store is locked")
        return
    state["loaded"] += 1
    if state["loaded"] == INDEX_PARTS:
        state["phase"] = "ready"
        store.log(clock, "info", "ready")
    store.save("state", state)


def health(store, clock) -> str:
    state = store.load("state", {"phase": "down", "starts": 0})
    if state["phase"] != "starting":
        return state["phase"]
    held = lock.holder(store, clock)
    if held and held["owner"] != state["starts"]:
        return f"starting: waiting for the lock of start {held['owner']}, {held['until'] - clock.now} s left"
    return f"starting: index {state['loaded']}/{INDEX_PARTS}"
