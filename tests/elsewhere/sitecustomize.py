"""Loaded by Python at its start when this folder is on PYTHONPATH: makes Linux look like macOS or Windows.

It removes what only Linux has, in this process and in those it starts, so that an import or a run that reaches for
such a name fails here as it would there. `/proc` cannot be opened or listed either.
"""

import ctypes
import fcntl
import importlib
import os
import platform
import posix
import resource
import select
import selectors
import signal
import socket
import sys
import sysconfig
import types

LINUX_ONLY = {
    fcntl: ("F_ADD_SEALS", "F_GET_SEALS", "F_SEAL_", "F_OFD_", "F_SETPIPE_SZ", "F_GETPIPE_SZ"),
    os: (
        *(
            "memfd_",
            "MFD_",
            "pidfd_",
            "P_PIDFD",
            "PIDFD_",
            "sched_",
            "SCHED_",
            "O_PATH",
            "O_TMPFILE",
            "O_DIRECT",
            "O_NOATIME",
        ),
        *(
            "posix_fallocate",
            "posix_fadvise",
            "POSIX_FADV_",
            "fdatasync",
            "copy_file_range",
            "splice",
            "SPLICE_",
        ),
        *(
            "eventfd",
            "EFD_",
            "setns",
            "unshare",
            "CLONE_",
            "setxattr",
            "getxattr",
            "listxattr",
            "removexattr",
        ),
        *("setresuid", "getresuid", "setresgid", "getresgid", "getrandom", "GRND_"),
    ),
    resource: (
        *("prlimit", "RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_RTTIME", "RLIMIT_SIGPENDING"),
        *("RLIMIT_OFILE", "RUSAGE_THREAD"),
    ),
    select: ("epoll", "EPOLL"),
    signal: (
        "SIGRT",
        "SIGPWR",
        "SIGSTKFLT",
        "SIGPOLL",
        "SIGCLD",
        "sigtimedwait",
        "sigwaitinfo",
        "pidfd_send_signal",
    ),
    socket: (
        *(
            "SOCK_CLOEXEC",
            "SOCK_NONBLOCK",
            "SO_TIMESTAMPNS",
            "SO_PEERCRED",
            "SO_PRIORITY",
            "SO_BINDTODEVICE",
            "SO_MARK",
        ),
        *(
            "MSG_NOSIGNAL",
            "MSG_CMSG_CLOEXEC",
            "MSG_ERRQUEUE",
            "TCP_QUICKACK",
            "TCP_USER_TIMEOUT",
            "TCP_KEEPIDLE",
        ),
        *(
            "TCP_CORK",
            "TCP_INFO",
            "TCP_DEFER_ACCEPT",
            "AF_NETLINK",
            "AF_PACKET",
            "AF_VSOCK",
            "AF_ALG",
            "SO_DOMAIN",
        ),
    ),
}
"""Module -> how the names begin that the other systems lack."""

for module, starts in LINUX_ONLY.items():
    for holder in (module, posix) if module is os else (module,):
        for name in [name for name in vars(holder) if name.startswith(starts) and name != "O_DIRECTORY"]:
            delattr(holder, name)

if hasattr(os, "process_cpu_count"):  # from Python 3.13 on; without `sched_getaffinity` it is this
    os.process_cpu_count = os.cpu_count
importlib.reload(selectors)  # `socket` has loaded it while `select` still had epoll


class _WithoutPrctl(ctypes.CDLL):
    def __getattr__(self, name: str) -> object:
        if name == "prctl":
            raise AttributeError("symbol not found: prctl")
        return super().__getattr__(name)


def _no_proc(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", str(arguments[0]))


_scproxy = types.ModuleType("_scproxy")
_scproxy.__dict__.update(_get_proxy_settings=dict, _get_proxies=dict)
sys.modules["_scproxy"] = _scproxy  # what urllib asks macOS for proxies with
os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = sysconfig._get_sysconfigdata_name()  # type: ignore[attr-defined]
ctypes.CDLL = _WithoutPrctl  # type: ignore[misc]
sys.addaudithook(_no_proc)
sys.platform = os.environ["PRETENDED_PLATFORM"]
if sys.platform == "win32":
    for absent in ("fcntl", "resource", "termios", "pwd", "grp", "pty", "tty"):
        sys.modules[absent] = None  # type: ignore[assignment]
else:
    platform.system = lambda: "Darwin"
