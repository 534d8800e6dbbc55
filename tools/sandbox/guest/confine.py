"""Shuts the worker itself in, for isolations that start it as a plain process: Landlock and a system-call filter."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from replayer.tools.sandbox.guest.memory import Head

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""The same numbers on every architecture."""
RULE_PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
VERSION_FLAG = 1
FILE_RIGHTS = {3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""By Landlock ABI; from 5 on also what is asked of devices."""
ALL_FILE_RIGHTS = (1 << 16) - 1
READ_RIGHTS = 0b1101
"""Execute, read a file, read a folder."""
ON_A_FILE = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)
"""Execute, write, read, truncate, device ioctl: the rights that make sense on what is not a folder."""
NET_RIGHTS, SCOPES = 0b11, 0b11
"""TCP bind and connect; abstract sockets and signals."""


class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_char_p))


def confine(settings: Head) -> None:
    """`landlock`: {"read": […], "write": […], "network": allowed}; `seccomp`: the program in hexadecimal, None where one
    is in force already. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc, libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    shut_in(libc, settings["landlock"])
    if "seccomp" in settings:
        program = bytes.fromhex(settings["seccomp"])
        described = Filter(len(program) // 8, program)
        checked(libc, libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0))


def shut_in(libc: ctypes.CDLL, rules: Head) -> None:
    """By what this kernel's Landlock can do."""
    abi = checked(libc, libc.syscall(CREATE_RULESET, None, 0, VERSION_FLAG))
    files = FILE_RIGHTS.get(abi, ALL_FILE_RIGHTS)
    network, scopes = 0 if rules.get("network") else NET_RIGHTS, SCOPES if abi >= 6 else 0
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = ctypes.create_string_buffer(struct.pack("QQQ", files, network, scopes)[:size], size)
    descriptor = checked(libc, libc.syscall(CREATE_RULESET, ruleset, size, 0))
    for path in rules["read"]:
        allow(libc, descriptor, path, READ_RIGHTS)
    for path in rules["write"]:
        allow(libc, descriptor, path, files)
    checked(libc, libc.syscall(RESTRICT_SELF, descriptor, 0))
    os.close(descriptor)


def allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= ON_A_FILE
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place))
    checked(libc, libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0))
    os.close(place)


def checked(libc: ctypes.CDLL, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
