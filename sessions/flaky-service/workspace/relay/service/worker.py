"""Imports the rows of a job, a chunk at a time; each chunk wholly or not at all."""

from pathlib import Path

from service import formats

CHUNK = 20


def submit(store, clock, path: Path) -> int:
    jobs = store.load("jobs", [])
    job = {"id": len(jobs) + 1, "file": str(path), "state": "queued", "done": 0, "rows": len(formats.rows(path)),
           "rejected": []}
    store.save("jobs", [*jobs, job])
    store.log(clock, "info", f"job {job['id']}: queued, {job['rows']} rows")
    return job["id"]


def work(store, clock) -> None:
    """One chunk of the first job that has not ended."""
    jobs = store.load("jobs", [])
    job = next((job for job in jobs if job["state"] in ("queued", "running")), None)
    if job is None:
        return
    job["state"] = "running"
    try:
        import_chunk(store, job)
    except Exception as error:
        store.log(clock, "warn", f"job {job['id']}: chunk at {job['done']} failed ({type(error).__name__}), again")
    if job["done"] == job["rows"]:
        job["state"] = "done"
        store.log(clock, "info", f"job {job['id']}: done, {len(job['rejected'])} rejected")
    store.save("jobs", jobs)


def import_chunk(store, job) -> None:
    chunk = formats.rows(Path(job["file"]))[job["done"] : job["done"] + CHUNK]
    orders = [formats.order(row) for row in chunk]
    known = store.load("orders", {})
    known.update({one["order"]: one for one in orders})
    store.save("orders", known)
    job["done"] += len(chunk)


def status(store, number: int) -> str:
    job = next((job for job in store.load("jobs", []) if job["id"] == number), None)
    if job is None:
        return f"job {number}: unknown"
    share = 100 * job["done"] // job["rows"] if job["rows"] else 100
    return f"job {number}: {job['state']}, {job['done']} of {job['rows']} rows ({share} %), {len(job['rejected'])} rejected"
