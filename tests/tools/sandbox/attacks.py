"""Attacks on a sandbox, each with what must come of it. Every one is tried on real isolation.

An attack is a program run inside; `{file}`, `{folder}`, `{port}`, `{abstract}`, `{pathname}`, `{pid}` name canaries
of the host. `held` looks at what it printed (`said`) and at the host (`host`, see conftest.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replayer.tools.sandbox.types import Ran

SECRET = "CANARY-7f3a"
TRY = """
import ctypes, os, socket, sys, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    r = libc.syscall(number, *args)
    print(errno.errorcode[ctypes.get_errno()] if r == -1 else 'ALLOWED')
def attempt(action):
    try: action(); print('ALLOWED')
    except OSError as e: print(errno.errorcode.get(e.errno, type(e).__name__))
    except Exception as e: print(type(e).__name__)
"""


MOUNTS = """
for line in open('/proc/mounts'):
    _, place, kind, options = line.split()[:4]
    sized = kind == 'tmpfs' and 'size=' in options
    if options.startswith('rw') and not sized and kind not in ('proc', 'devpts') and not place.startswith('/dev/'):
        print(place)
    if place == '/proc/sys' and options.startswith('ro'):
        print('covered')
"""


@dataclass(frozen=True)
class Attack:
    name: str
    program: str
    held: Callable[..., bool]
    python: bool = False
    timeout: float = 100.0


def only(*words: str) -> Callable[..., bool]:
    """Nothing but these words was printed, one of them at least."""
    return lambda ran, host: set(ran.output.split()) <= set(words) and bool(ran.output.split())


def silent_about(word: str = SECRET) -> Callable[..., bool]:
    return lambda ran, host: word not in ran.output


def untouched(ran: Ran, host: object) -> bool:
    return host.untouched()


def limited(kind: str) -> Callable[..., bool]:
    return lambda ran, host: ran.limit == kind


def python(name: str, body: str, held: Callable[..., bool], **more: float) -> Attack:
    return Attack(name, TRY + body, held, python=True, **more)


def files() -> list[Attack]:
    return [
        Attack("read a host file by its path", "cat {file}; ls -la {folder}", silent_about()),
        Attack("write a host file by its path", "echo x > {file}; echo x > {folder}/new", untouched),
        Attack("symlink to a host file", "ln -s {file} l; cat l; ln -s {folder} d; cat d/*", silent_about()),
        Attack(
            "write through a symlink",
            "ln -s {folder} d; echo x > d/new; ln -s {file} l; echo x > l",
            untouched,
        ),
        Attack(
            "climb out through /proc",
            "for p in /proc/[0-9]*; do cat $p/root{file} $p/cwd{file} $p/fd/*/../..{file}; done 2>&1",
            silent_about(),
        ),
        Attack(
            "inherited descriptors",
            "for f in /proc/self/fd/*; do readlink $f; done | grep -c memfd",
            only("0"),
        ),
        Attack(
            "host paths in the command line of PID 1",
            "tr '\\0' ' ' < /proc/1/cmdline; cat /proc/mounts; cat /proc/self/mountinfo",
            lambda ran, host: (
                host.folder not in ran.output and "bwrap" not in ran.output.split("overlay")[0][:400]
            ),
        ),
        Attack("secrets in the environment", "env; cat /proc/*/environ 2>/dev/null", silent_about()),
        Attack(
            "password files", "cat /etc/shadow /root/.ssh/* /home/*/.ssh/* 2>&1 | grep -c BEGIN", only("0")
        ),
        Attack(
            "what of /etc is the host's",
            "cat /etc/hostname /etc/machine-id /etc/fstab /etc/resolv.conf 2>/dev/null | wc -c",
            only("0"),
        ),
        Attack("host disks", "ls /dev | grep -E '^(sd|vd|nvme|loop|mem|kmem|port)' | wc -l", only("0")),
        python(
            "make a device",
            "attempt(lambda: os.mknod('dev', 0o600 | 0o020000, os.makedev(1, 3)))",
            only("EPERM"),
        ),
    ]


def network() -> list[Attack]:
    return [
        python(
            "TCP to a listener on the host's loopback",
            "attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 2))",
            lambda ran, host: "ALLOWED" not in ran.output and not host.visited(),
        ),
        python(
            "metadata service and the internet",
            "for ip in ('169.254.169.254', '1.1.1.1'): attempt(lambda: socket.create_connection((ip, 80), 2))",
            only("ENETUNREACH"),
        ),
        python(
            "names",
            "attempt(lambda: socket.getaddrinfo('example.com', 80))",
            only("gaierror"),
        ),
        python(
            "abstract Unix socket of the host",
            "attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0{abstract}'))",
            only("ECONNREFUSED"),
        ),
        python(
            "Unix socket of the host by its path",
            "attempt(lambda: socket.socket(socket.AF_UNIX).connect('{pathname}'))",
            only("ENOENT"),
        ),
        python(
            "families that no network namespace holds: VSOCK, PACKET, ALG, BLUETOOTH",
            "for f in (40, 17, 38, 31): attempt(lambda: socket.socket(f, socket.SOCK_RAW if f == 17 else socket.SOCK_STREAM))",
            only("EAFNOSUPPORT"),
        ),
        python(
            "family with its high bits set",
            "call(41 if sys.platform and os.uname().machine == 'x86_64' else 198, 40 | 1 << 33, 1, 0)",
            only("EAFNOSUPPORT"),
        ),
    ]


def kernel() -> list[Attack]:
    return [
        python(
            "new namespaces",
            "for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000): attempt_unshare = libc.unshare(flag); "
            "print(errno.errorcode[ctypes.get_errno()] if attempt_unshare else 'ALLOWED')",
            only("EPERM", "ENOSPC"),
        ),
        Attack(
            "mount, remount, uncover, chroot",
            "mount -t tmpfs x /tmp; mount -o remount,rw /; umount /proc/sys; umount -l /usr; chroot / true; echo $?; "
            "unshare -Ur id; touch /usr/x /etc/x /x && echo WROTE",
            silent_about("WROTE"),
        ),
        Attack(
            "setuid programs",
            "su -c id </dev/null; grep NoNewPrivs /proc/self/status",
            lambda ran, host: "NoNewPrivs:\t1" in ran.output and "uid=0" not in ran.output,
        ),
        Attack(
            "kernel settings",
            "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sysrq-trigger /proc/irq/default_smp_affinity "
            "/proc/mtrr; do [ -e $f ] && (echo x > $f) 2>/dev/null && echo WROTE $f; done; ls /sys 2>/dev/null",
            lambda ran, host: "WROTE" not in ran.output,
        ),
        Attack(
            "kernel messages",
            "dmesg 2>&1; cat /proc/kmsg 2>&1; head -c 1 /proc/kcore 2>&1",
            lambda ran, host: "Linux version" not in ran.output,
        ),
        Attack(
            "kernel addresses",
            "awk '{print $1}' /proc/kallsyms | sort -u | head -3",
            only("0000000000000000", "(null)"),
        ),
        python(
            "dangerous system calls",
            "n = dict(x86_64=(321,250,323,298,101,310,304,246,175,169), aarch64=(280,219,282,241,117,270,265,104,105,142))"
            "[os.uname().machine]\nfor one in n: call(one, 0, 0, 0, 0, 0)",
            only("EPERM"),
        ),
        python(
            "system calls whose arguments a filter cannot see",
            "for one in (425, 426, 427, 435): call(one, 0, 0)",
            only("ENOSYS"),
        ),
        python(
            "system calls that are newer than the filter",
            "for one in range(463, 475): call(one, 0, 0, 0, 0, 0)",
            only("ENOSYS"),
        ),
        python(
            "what is in the page cache of the host's files",
            "call(451, 0, 0, 0, 0); call(457, 0, 0, 0, 0); call(458, 0, 0, 0, 0)",
            only("EPERM"),
        ),
        python(
            "x32 system calls",
            "call(0x40000000 | 39) if os.uname().machine == 'x86_64' else print('ENOSYS')",
            only("ENOSYS"),
        ),
        Attack(
            "clock and host name",
            "date -s 2001-01-01; hostname evil; hostname",
            lambda ran, host: ran.output.rstrip().endswith("sandbox"),
        ),
        python(
            "type into the user's terminal",
            "import fcntl, termios\nfor c in (0x5412, 0x5412 | 1 << 32): call(16 if os.uname().machine == 'x86_64' else 29, 0, ctypes.c_ulong(c), b'x')\n"
            "attempt(lambda: os.open('/dev/tty', os.O_RDWR))",
            only("EPERM", "ENXIO", "ENOENT"),
        ),
        python(
            "netlink beyond routes and sockets",
            "for one in range(23):\n  if one not in (0, 4): attempt(lambda: socket.socket(16, socket.SOCK_RAW, one).close())",
            only("EPROTONOSUPPORT", "EAFNOSUPPORT"),
        ),
        python(
            "kernel objects that no limit counts",
            "n = dict(x86_64=(206, 68, 240), aarch64=(0, 186, 180))[os.uname().machine]\n"
            "call(n[0], 65536, ctypes.byref(ctypes.c_long(0))); call(n[1], 0, 0o1666); call(n[2], b'/x', 0o102, 0o666, 0)",
            only("EPERM"),
        ),
        Attack("shared memory of System V", "ipcs -m | grep -c '^0x'; true", only("0")),
        Attack(
            "see processes of the host", "ls -d /proc/{pid} 2>&1", lambda ran, host: "No such" in ran.output
        ),
        Attack("name of the host", "uname -n", only("sandbox")),
        Attack("another user", "id -u; id -g; id -G", only("1000")),
        Attack(
            "capabilities to win back",
            "grep -E 'Cap(Bnd|Prm|Eff|Inh|Amb)' /proc/self/status | cut -f2",
            only("0" * 16),
        ),
        Attack(
            "control groups of the host",
            "readlink /proc/self/ns/cgroup",
            lambda ran, host: ran.output.strip() != host.cgroup(),
        ),
        Attack("session of the user's terminal", "cut -d' ' -f6 /proc/1/stat", only("1")),
        python("mounts that can be written to without a limit", MOUNTS, only("covered")),
        python(
            "open what only root may",
            "for p in ('/proc/kmsg', '/proc/mtrr', '/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern'):\n"
            "  if os.path.exists(p): attempt(lambda: os.close(os.open(p, os.O_RDONLY if 'kmsg' in p else os.O_WRONLY)))",
            only("EACCES", "EPERM", "EROFS"),
        ),
    ]


def worker() -> list[Attack]:
    return [
        Attack(
            "kill a process of the host",
            "kill -9 {pid} && echo KILLED",
            lambda ran, host: "KILLED" not in ran.output and host.alive(),
        ),
        Attack(
            "read the worker's memory and files",
            "cat /proc/1/mem /proc/1/environ /proc/1/maps; ls /proc/1/fd && echo LISTED",
            silent_about("LISTED"),
        ),
        python(
            "attach to the worker",
            "call(101 if os.uname().machine == 'x86_64' else 117, 16, 1, 0, 0)",
            only("EPERM"),
        ),
        Attack(
            "write to the worker's socket",
            "for f in /proc/1/fd/* /proc/self/fd/*; do case $f in */[3-9]|*/1?) echo '{{}}' > $f && echo WROTE;; esac; done",
            silent_about("WROTE"),
        ),
        Attack(
            "every signal to the worker",
            "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; kill -9 -1; true",
            lambda ran, host: True,
        ),
        Attack(
            "a memory file of the worker reopened for writing",
            "for f in /proc/1/fd/*; do echo x > $f && echo WROTE; done",
            silent_about("WROTE"),
        ),
    ]


def resources() -> list[Attack]:
    return [
        Attack(
            "fork bomb",
            # Waiting and counting must start no process: there is none left to start.
            "mkfifo w; exec 3<>w; trap '' TERM; (f() {{ f | f & }}; f) 2>/dev/null; read -t 1 -u 3; set -- /proc/[0-9]*; echo $#",
            lambda ran, host: int(ran.output.split()[-1]) < 110,
        ),
        python(
            "thread bomb",
            "import threading, time\nn = 0\ntry:\n  while n < 2000: threading.Thread(target=time.sleep, args=(99,), daemon=True).start(); n += 1\nexcept RuntimeError: pass\nprint(n < 300, flush=True); os._exit(0)",
            only("True"),
        ),
        python(
            "4 GiB in one process",
            "try: b = bytearray(4 << 30); print(len(b))\nexcept MemoryError: print('MemoryError')",
            only("MemoryError"),
        ),
        python(
            "8 processes of 120 MB, each under its own limit",
            "import time\nfor _ in range(7):\n  if os.fork() == 0: break\nb = bytearray(120 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\ntime.sleep(99)",
            limited("memory"),
        ),
        Attack(
            "fill every place that can be written",
            "for d in /workspace /tmp /home/user /dev/shm; do dd if=/dev/zero of=$d/fill bs=1M count=100 2>&1 | grep -o 'No space'; done;"
            "for d in / /dev /run /etc /usr /var /proc /home/other; do (echo x > $d/fill) 2>/dev/null && echo WROTE $d; done",
            lambda ran, host: ran.output.count("No space") == 4 and "WROTE" not in ran.output,
        ),
        Attack("flood of output", "yes", limited("output")),
        Attack("flood of zeros", "cat /dev/zero", limited("output")),
        Attack("slow flood", "while :; do echo x; sleep 0.01; done", limited("time"), timeout=0.5),
        Attack("ignores TERM", "trap '' TERM INT HUP; sleep 60", limited("time"), timeout=0.5),
        Attack("stops itself", "kill -STOP $$", limited("time"), timeout=0.5),
        Attack("waits at a fifo", "mkfifo f; cat f", limited("time"), timeout=0.5),
        Attack("waits for input", "read x; echo got:$x", lambda ran, host: ran.output == "got:\n"),
        Attack(
            "background holder of the output",
            "sleep 300 & echo done",
            lambda ran, host: ran.output == "done\n",
        ),
        Attack("1 TiB sparse file", "truncate -s 1T big && echo MADE", silent_about("MADE")),
        python(
            "a million empty files",
            "n = 0\ntry:\n  while n < 1_000_000: os.close(os.open(f'f{n}', os.O_CREAT)); n += 1\nexcept OSError: pass\nprint('MADE')",
            limited("inodes"),
        ),
        python(
            "20,000 folders deep",
            "for _ in range(20000): os.mkdir('d'); os.chdir('d')\nprint('done')",
            only("done"),
        ),
        python(
            "descriptors",
            "fs = []\ntry:\n  while True: fs.append(os.dup(0))\nexcept OSError as e: print(errno.errorcode[e.errno], len(fs) < 1100)",
            only("EMFILE", "True"),
        ),
        Attack(
            "limits of a process",
            "ulimit -St; (ulimit -Sc; ulimit -Sf; ulimit -Su; ulimit -Sn)",
            only("60", "0", str(256 << 10), "100", "1024"),
        ),
        Attack(
            "terminal codes and bad text",
            "printf '\\033]0;owned\\007\\000\\377\\033[2J'",
            lambda ran, host: ran.head == b"\x1b]0;owned\x07\x00\xff\x1b[2J",
        ),
    ]


ATTACKS = [*files(), *network(), *kernel(), *worker(), *resources()]
