"""A process that the kernel ends at once when it, a library in it or a child of it reaches for a network.

A filter of system calls (seccomp, Linux) lets socket(2) make local sockets only. It needs no privilege, sees native
code as well as Python, and is inherited by threads and children. Ending beats refusing: nobody can swallow it.
"""

import ctypes
import platform
import struct
import sys

SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}  # architecture, and the number of socket(2) on it
LOCAL = 1  # AF_UNIX: what joblib and multiprocessing use among themselves
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of the kernel's packet filter: a word of the call; skip if, skip if not
NUMBER_AT, ARCHITECTURE_AT, FAMILY_AT = 0, 4, 16
ALLOW, END_PROCESS = 0x7FFF0000, 0x80000000

KNOWN = sys.platform == "linux" and platform.machine() in SOCKET


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def forbid() -> None:
    """Block the network in this process permanently."""
    architecture, socket = SOCKET[platform.machine()]
    steps = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (EQUAL, 0, 4, architecture),  # calls of another architecture: end
        (LOAD, 0, 0, NUMBER_AT),
        (EQUAL, 0, 3, socket),  # another call: allow
        (LOAD, 0, 0, FAMILY_AT),
        (EQUAL, 1, 0, LOCAL),
        (RETURN, 0, 0, END_PROCESS),
        (RETURN, 0, 0, ALLOW),
    ]
    filtered = Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    _control(PR_SET_NO_NEW_PRIVS, 1, 0)
    _control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtered))


def _control(option: int, first: object, second: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, first, second, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")
