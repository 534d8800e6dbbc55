"""One service per store. A lock is a lease: whoever dies with it holds the others up until it has run out."""

LEASE = 60


def holder(store, clock):
    """The lock that is in force, None where there is none."""
    lock = store.load("lock", None)
    if lock and lock["until"] > clock.now:
        return lock
    return None


def acquire(store, clock, owner: int) -> bool:
    held = holder(store, clock)
    if held and held["owner"] != owner:
        return False
    store.save("lock", {"owner": owner, "until": clock.now + LEASE})
    return True


def release(store, owner: int) -> None:
    lock = store.load("lock", None)
    if lock and lock["owner"] == owner:
        store.drop("lock")
