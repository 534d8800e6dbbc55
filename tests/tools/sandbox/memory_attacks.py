"""Ways to take memory in a sandbox. Each takes as much as it gets, and holds it."""

from __future__ import annotations

HOLD = "\nimport time\nprint('took it', flush=True)\ntime.sleep(60)\n"
PIECE = "MiB = 1 << 20\nfull = b'x' * MiB\n"

WAYS = {
    "private pages of many processes": """
for _ in range(30):
    if os.fork() == 0:
        kept = [b'x' * (8 * MiB) for _ in range(20)]
        time.sleep(60)
""",
    "shared anonymous mappings": """
kept = []
for _ in range(30):
    one = mmap.mmap(-1, 50 * MiB)
    for at in range(0, 50 * MiB, MiB): one[at:at + MiB] = full
    kept.append(one)
""",
    "shared mappings that are hidden again": """
kept = []
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mmap.restype = ctypes.c_void_p
for _ in range(60):
    at = libc.mmap(None, ctypes.c_size_t(25 * MiB), 3, 0x21, -1, 0)
    ctypes.memset(at, 1, 25 * MiB)
    libc.munmap(at + 4096, 25 * MiB - 4096)
""",
    "memory files": """
kept = []
while len(kept) < 30:
    try: one = os.memfd_create('x')
    except OSError: one = os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR)
    for _ in range(50): os.write(one, full)
    kept.append(one)
""",
    "memory files on their way through a socket": """
a, b = socket.socketpair()
for _ in range(30):
    try: one = os.memfd_create('x')
    except OSError: one = os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR)
    for _ in range(50): os.write(one, full)
    socket.send_fds(a, [b'x'], [one])
    os.close(one)
""",
    "System V segments": """
libc.shmat.restype = ctypes.c_void_p
for _ in range(60):
    number = libc.shmget(0, ctypes.c_size_t(25 * MiB), 0o1666)
    if number < 0: sys.exit('refused')
    at = libc.shmat(number, None, 0)
    ctypes.memset(at, 1, 25 * MiB)
    libc.shmdt(ctypes.c_void_p(at))
""",
    "files in memory": """
for place in ('/workspace', '/tmp', '/home/user', '/dev/shm'):
    try:
        for n in range(64):
            with open(f'{place}/{n}', 'wb') as file:
                for _ in range(32): file.write(full)
    except OSError: pass
kept = [b'x' * MiB for _ in range(700)]
""",
    "buffers of Unix sockets": """
kept = []
for _ in range(12):
    if os.fork() == 0:
        for _ in range(450):
            pair = socket.socketpair()
            kept.append(pair)
            for one in pair:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MiB)
                one.setblocking(False)
                try:
                    while True: one.send(full[:65536])
                except OSError: pass
        time.sleep(60)
""",
    "buffers of Unix sockets whose senders are gone": """
kept = []
for _ in range(12):
    if os.fork() == 0:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM) * 225:
            a, b = socket.socketpair(socket.AF_UNIX, kind)
            a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MiB)
            a.setblocking(False)
            try:
                while True: a.send(full[:65536])
            except OSError: pass
            kept.append(b)
        time.sleep(60)
""",
    "buffers of TCP sockets": """
for _ in range(8):
    if os.fork() == 0:
        listening = socket.create_server(('127.0.0.1', 0), backlog=500)
        kept = []
        for _ in range(300):
            one = socket.create_connection(listening.getsockname())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MiB)
            one.setblocking(False)
            kept += [one, listening.accept()[0]]
            try:
                while True: one.send(full)
            except OSError: pass
        time.sleep(60)
""",
    "pipes": """
for _ in range(60):
    if os.fork() == 0:
        for _ in range(480):
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            try:
                while True: os.write(writing, full[:65536])
            except OSError: pass
        time.sleep(60)
""",
    "a tree of processes": """
def grow(depth):
    kept.append(bytearray(24 * MiB))
    for at in range(0, 24 * MiB, 4096): kept[-1][at] = 1
    for _ in range(2):
        try:
            if depth and os.fork() == 0: grow(depth - 1)
        except OSError: pass
    time.sleep(60)
kept = []
grow(6)
""",
    "folders with long names": """
n = 0
while True:
    n += 1
    os.mkdir(f'/workspace/{n:0>250}')
""",
    "page tables": """
for _ in range(20):
    if os.fork() == 0:
        one = mmap.mmap(-1, 1 << 40, flags=0x4022, prot=mmap.PROT_READ)
        for at in range(0, 1 << 40, 2 * MiB): one[at]
        time.sleep(60)
""",
}

PROGRAMS = {
    name: f"import ctypes, mmap, os, resource, socket, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\n{PIECE}{body}{HOLD}"
    for name, body in WAYS.items()
}
