"""What tools print while an agent works: logs and polling, drawn from a pool of words."""

from __future__ import annotations

from benchmarks.repetition_words import Pool


def steady_pods(p: Pool) -> str:
    """Nothing but the age changes."""
    names = [
        f"{p.noun}-{p.rng.getrandbits(40):010x}-{p.rng.getrandbits(20):05x}"
        for _ in range(p.rng.randint(1, 3))
    ]
    out, age = "", 30
    for _ in range(p.rng.randint(6, 12)):
        out += "$ kubectl get pods\nNAME                            READY   STATUS    RESTARTS   AGE\n"
        out += "".join(f"{name:31s} 1/1     Running   0          {age}s\n" for name in names)
        age += p.rng.randint(4, 12)
    return out


def pods(p: Pool) -> str:
    """`kubectl get pods` again and again until all run."""
    names = [
        f"{p.noun}-{p.rng.getrandbits(40):010x}-{p.rng.getrandbits(20):05x}"
        for _ in range(p.rng.randint(2, 5))
    ]
    out, age = "", 3
    ready = {name: p.rng.randint(2, 9) for name in names}
    for look in range(10):
        out += (
            "$ kubectl get pods\nNAME                            READY   STATUS              RESTARTS   AGE\n"
        )
        for name in names:
            state = "1/1     Running          " if look >= ready[name] else "0/1     ContainerCreating"
            out += f"{name:31s} {state}   0          {age}s\n"
        out += "\n"
        age += p.rng.randint(4, 12)
    return out


def attempts(p: Pool) -> str:
    out = "".join(
        f"Waiting for {p.noun} to be ready… attempt {n}/15 (HTTP {p.rng.choice((502, 503))})\n"
        for n in range(1, p.rng.randint(6, 14))
    )
    return out + "ready after 12.4 s\n"


def one_wait(p: Pool) -> str:
    """The same line with a counter, until it works."""
    what, most = p.noun, p.rng.randint(6, 15)
    out = "".join(f"Waiting for the {what} to start ({n}/{most})...\n" for n in range(1, most))
    return out + f"The {what} is up. Now I can run the tests against it.\n"


def ping(p: Pool) -> str:
    out = "PING 10.0.0.7 (10.0.0.7) 56(84) bytes of data.\n"
    return out + "".join(
        f"64 bytes from 10.0.0.7: icmp_seq={n} ttl=63 time={p.rng.uniform(0.2, 9):.3f} ms\n"
        for n in range(1, 25)
    )


def server_log(p: Pool) -> str:
    out = ""
    for second in range(60):
        out += f"2026-04-01T10:{second // 6:02d}:{second % 6 * 10 + p.n(9):02d}Z {p.rng.choice(('INFO', 'INFO', 'WARN', 'DEBUG'))} {p.noun}: {p.verb.lower()} {p.noun} {p.rng.getrandbits(32):08x} in {p.n()} ms\n"
    return out


def access_log(p: Pool) -> str:
    return "".join(
        f'10.1.{p.n(9)}.{p.n(250)} - - [12/Mar/2026:10:{n // 60:02d}:{n % 60:02d} +0000] "GET /{p.noun}/{p.n()} HTTP/1.1" {p.rng.choice((200, 200, 304, 404))} {p.n(90000)}\n'
        for n in range(60)
    )


def pytest_output(p: Pool) -> str:
    total = p.rng.randint(30, 80)
    return "".join(
        f"tests/test_{p.noun}.py::test_{p.verb.lower()}_{p.noun}[{p.n()}] PASSED{' ' * 8}[{n * 100 // total:3d}%]\n"
        for n in range(1, total)
    )


def compiling(p: Pool) -> str:
    return (
        "".join(f"   Compiling {p.noun}-{p.noun} v{p.n(9)}.{p.n(30)}.{p.n(9)}\n" for _ in range(50))
        + "    Finished `dev` profile\n"
    )


def pip_output(p: Pool) -> str:
    return "".join(
        f"Collecting {p.noun}-{p.noun}>={p.n(9)}.{p.n(9)}\n  Using cached {p.noun}_{p.noun}-{p.n(9)}.{p.n(9)}-py3-none-any.whl ({p.n(900)} kB)\n"
        for _ in range(30)
    )


def lint(p: Pool) -> str:
    return (
        "".join(
            f"{p.file}:{p.n()}:{p.n(80)}: F401 [*] `{p.noun}.{p.noun}` imported but unused\n"
            for _ in range(40)
        )
        + "Found 40 errors.\n"
    )


def progress(p: Pool) -> str:
    return "".join(
        f"Downloading {p.noun}: {n * 4:3d}%|{'█' * n}{' ' * (25 - n)}| {n * 37.3:.1f}/932M [{n:02d}:00<{25 - n:02d}:00]\n"
        for n in range(26)
    )


def git_log(p: Pool) -> str:
    return "".join(
        f"commit {p.rng.getrandbits(160):040x}\nAuthor: Ana Li <ana@example.com>\nDate:   Mon Mar {p.n(28)} 2026\n\n    {p.verb} the {p.fault} in {p.noun}\n\n"
        for _ in range(25)
    )


def stack_trace(p: Pool) -> str:
    frames = "".join(
        f'  File "{p.file}", line {p.n()}, in {p.noun}\n    return self.{p.noun}({p.noun})\n'
        for _ in range(14)
    )
    again = f'  File "{p.file}", line 12, in walk\n    walk(node.next)\n' * 3
    return f"Traceback (most recent call last):\n{frames}{again}  [Previous line repeated 975 more times]\nRecursionError\n"


# --- validation only ------------------------------------------------------------------------------------------


def docker_ps(p: Pool) -> str:
    out = ""
    ids = [(f"{p.rng.getrandbits(48):012x}", p.noun) for _ in range(3)]
    for minute in range(2, 14):
        out += "CONTAINER ID   IMAGE          STATUS          PORTS\n"
        out += "".join(
            f"{key}   {name:12s}   Up {minute} minutes    0.0.0.0:80{n}->80/tcp\n"
            for n, (key, name) in enumerate(ids)
        )
    return out


def nvidia_smi(p: Pool) -> str:
    return "".join(
        f"[{n:02d}:00] GPU 0: {p.n(99)} % util, {p.n(80)} GiB used, {60 + p.n(20)} C, {p.n(600)} W\n"
        for n in range(40)
    )


def training(p: Pool) -> str:
    return "".join(
        f"epoch {n:3d}/100  loss {3 / n:.4f}  val_loss {3.3 / n + p.rng.random() / 9:.4f}  lr 3.00e-04  {p.n(60)} s\n"
        for n in range(1, 80)
    )


def tsc(p: Pool) -> str:
    return "".join(
        f"{p.file}({p.n()},{p.n(80)}): error TS2345: Argument of type 'string' is not assignable to parameter of type '{p.noun.title()}'.\n"
        for _ in range(30)
    )


def ansible(p: Pool) -> str:
    out = ""
    for _ in range(15):
        out += f"TASK [{p.noun} : {p.verb} the {p.noun}] " + "*" * 40 + "\n"
        out += "".join(f"{p.rng.choice(('ok', 'changed'))}: [host{n}]\n" for n in range(1, 5)) + "\n"
    return out


def benchmarks(p: Pool) -> str:
    return "".join(
        f"test {p.noun}::{p.noun}_{p.verb.lower()} ... bench: {p.n(90000):>10,} ns/iter (+/- {p.n(900)})\n"
        for _ in range(45)
    )


def watch(p: Pool) -> str:
    """A status line every few seconds while a job runs."""
    out = "".join(
        f"[{n * 5:3d} s] job {p.noun}: running, {n * 4} % done, {400 - n * 16} rows left\n"
        for n in range(1, 25)
    )
    return out + "done in 126 s\n"
