"""The system-call filter of the sandbox, as classic BPF: a list of refusals, and nothing that is newer than this file.

Not an allow-list, by measurement: git, gcc, Python, Node, Java and Perl use 136 calls for a tool set's work, the programs
of a user's repository others; a list that lets all of them work is the list of what is refused here, turned around.

Numbers are those of the kernel's own tables (arch/x86/entry/syscalls/syscall_64.tbl, asm-generic/unistd.h).
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from dataclasses import dataclass

LOAD, JEQ, JGE, JSET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCH, ARGUMENTS = 0, 4, 16

REFUSED: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64); -1 where the architecture does not have it
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "syslog": (103, 116),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "set_mempolicy": (238, 237),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "modify_ldt": (154, -1),
    "uselib": (134, -1),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "cachestat": (451, 451),
    "fanotify_mark": (301, 263),
    "listmount": (458, 458),
    "lsm_set_self_attr": (460, 460),
    "map_shadow_stack": (453, 453),
    "process_madvise": (440, 440),
    "remap_file_pages": (216, 234),
    "set_mempolicy_home_node": (450, 450),
    "statmount": (457, 457),
    "sysfs": (139, -1),
    "ustat": (136, -1),
    "vmsplice": (278, 75),
    "io_setup": (206, 0),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
OWN_IPC: dict[str, tuple[int, int]] = {"shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190)}
"""Refused where the sandbox has no IPC namespace: they would reach the host's."""
UNCOUNTED: dict[str, tuple[int, int]] = {"memfd_create": (319, 279), "memfd_secret": (447, 447)}
"""Not there where no cgroup counts memory: a file that no path and no process shows cannot be counted."""
UNKNOWN: dict[str, tuple[int, int]] = {
    "clone3": (435, 435),  # its flags lie in memory, where a filter cannot look; libc falls back to clone
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
CLONE, IOCTL, SOCKET, SETSOCKOPT = (56, 220), (16, 29), (41, 198), (54, 208)
BUFFERS = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF, and both for who may go beyond the limits."""
UNHEARD_OF = 463
"""The first number that was given after this list was made. Programs know what to do without it."""
CLONE_NEW = 0x7E020080
"""All CLONE_NEW* flags: time, cgroup, uts, ipc, user, pid, net, mount."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
NETLINK = 16
NETLINK_PROTOCOLS = (0, 4)
"""Routes, and what sockets there are: of the sandbox's own network."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, NETLINK)
"""What a socket may be. AF_VSOCK is not part of the network namespace: it would reach the host."""


@dataclass(frozen=True, slots=True)
class Architecture:
    audit: int
    column: int


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0),
    "aarch64": Architecture(0xC00000B7, 1),
}


def instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def program(
    machine: str | None = None,
    families: tuple[int, ...] = FAMILIES,
    *,
    fenced: bool = False,
    own_ipc: bool = True,
) -> bytes:
    """The filter for this machine. `fenced`: a cgroup counts memory. KeyError where the architecture is not known."""
    arch = ARCHITECTURES[machine or platform.machine()]
    parts = [
        instruction(LOAD, ARCH),
        instruction(JEQ, arch.audit, 1, 0),
        instruction(RETURN, KILL_PROCESS),
        instruction(LOAD, NUMBER),
    ]
    parts += [instruction(JGE, UNHEARD_OF, 0, 1), instruction(RETURN, ERRNO | errno.ENOSYS)]
    unknown = UNKNOWN if fenced else UNKNOWN | UNCOUNTED
    refused = REFUSED if own_ipc else REFUSED | OWN_IPC
    for table, answer in ((unknown, errno.ENOSYS), (refused, errno.EPERM)):
        for numbers in table.values():
            if numbers[arch.column] >= 0:
                parts += [
                    instruction(JEQ, numbers[arch.column], 0, 1),
                    instruction(RETURN, ERRNO | answer),
                ]
    parts += argument_rules(arch.column, families)
    parts += [] if fenced else fixed_buffers(arch.column)
    return b"".join([*parts, instruction(RETURN, ALLOW)])


def argument_rules(column: int, families: tuple[int, ...]) -> list[bytes]:
    """Rules on one argument. Only its low 32 bits are compared: the kernel, too, drops the high ones of these."""
    refuse = instruction(RETURN, ERRNO | errno.EPERM)
    clone = [
        instruction(JEQ, CLONE[column], 0, 4),
        instruction(LOAD, ARGUMENTS),
        instruction(JSET, CLONE_NEW, 0, 1),
        refuse,
        instruction(RETURN, ALLOW),
    ]
    ioctl = [
        instruction(JEQ, IOCTL[column], 0, 5),
        instruction(LOAD, ARGUMENTS + 8),
        instruction(JEQ, TIOCSTI, 1, 0),
        instruction(JEQ, TIOCLINUX, 0, 1),
        refuse,
        instruction(RETURN, ALLOW),
    ]
    allowed = [instruction(JEQ, family, len(families) - place, 0) for place, family in enumerate(families)]
    netlink = [
        instruction(JEQ, NETLINK, 0, 4),
        instruction(LOAD, ARGUMENTS + 16),
        *(instruction(JEQ, protocol, 2 - place, 0) for place, protocol in enumerate(NETLINK_PROTOCOLS)),
        instruction(RETURN, ERRNO | errno.EPROTONOSUPPORT),
    ]
    sockets = [
        instruction(JEQ, SOCKET[column], 0, len(families) + len(netlink) + 3),
        instruction(LOAD, ARGUMENTS),
        *allowed,
        instruction(RETURN, ERRNO | errno.EAFNOSUPPORT),
        *netlink,
        instruction(RETURN, ALLOW),
    ]
    return [*clone, *ioctl, *sockets]


def fixed_buffers(column: int) -> list[bytes]:
    """Setting the size of a socket's buffers does nothing: where they are counted, their size must be known."""
    return [
        instruction(JEQ, SETSOCKOPT[column], 0, 9),
        instruction(LOAD, ARGUMENTS + 8),
        instruction(JEQ, socket.SOL_SOCKET, 0, 5),
        instruction(LOAD, ARGUMENTS + 16),
        *(instruction(JEQ, option, 4 - place, 0) for place, option in enumerate(BUFFERS)),
        instruction(RETURN, ALLOW),
        instruction(RETURN, ERRNO),
    ]
