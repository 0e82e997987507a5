"""The kernel: calls that no solution of a problem needs, and many an exploit did."""

from typing import Any

from tests.sandbox.attacks.table import RAW, Attack, held, refused

_CHANGES = "it changes the machine, or ends it"
_ABSENT = "not every kernel has it"


def _call(name: str, call: str, **more: Any) -> Attack:
    return refused(name, call, head=RAW, **more)


# socket(AF_INET, SOCK_STREAM, 0) for a 32-bit kernel: another table of numbers, another filter.
_SOCKET_32 = """
import ctypes, mmap, os
code = bytes.fromhex('53b867010000bb02000000b90100000031d2cd805bc3')
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
def attempt():
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return 'refused' if call() < 0 else 'it worked'
"""

ATTACKS = [
    _call("a user namespace", "raw(272, 97, 0x10000000)"),
    _call("a mount namespace", "raw(272, 97, 0x20000)", root=True),
    _call("a network namespace", "raw(272, 97, 0x40000000)", root=True),
    _call("another namespace, joined", "reach(308, 268, 0, 0)"),
    _call("mount", "reach(165, 40, 8, 8, 8, 0, 0)"),
    _call("mount, the new way", "reach(430, 430, 8, 0)", root=True),
    _call("a tree of mounts", "reach(428, 428, -1, b'', 0)"),
    _call("a mount, moved", "reach(429, 429, -1, b'', -1, b'', 0)", root=True),
    _call("a mount, changed", "reach(442, 442, -1, b'', 0, 0, 0)", because=_ABSENT),
    _call("umount", "reach(166, 39, 8, 0)", root=True),
    _call("another root", "reach(155, 41, 8, 8)", root=True),
    _call("a chroot", "reach(161, 51, 8)"),
    _call("a device", "reach(259, 33, -1, 8, 0o20666, 259)"),
    _call("swap", "reach(167, 224, 8, 0)", root=True),
    _call("reboot", "reach(169, 142, 0, 0, 0, 0)", root=True),
    _call("another kernel", "reach(246, 104, 0, 99, 0, 0)", because=_ABSENT),
    _call("a module of the kernel", "reach(175, 105, 0, 0, 0)", because=_ABSENT),
    _call("a module, removed", "reach(176, 106, 8, 0)", because=_ABSENT),
    _call(
        "bpf",
        """
        attr = (ctypes.c_uint32 * 18)(2, 4, 4, 1)
        os.close(raw(321, 280, 0, ctypes.byref(attr), 72))
        """,
        root=True,
    ),
    _call("perf", "reach(298, 241, 8, 0, -1, -1, 0)"),
    _call(
        "io_uring",
        "params = (ctypes.c_uint32 * 30)()\nos.close(raw(425, 425, 1, ctypes.byref(params)))",
    ),
    _call(
        "asynchronous input and output",
        "context = ctypes.c_uint64()\nraw(206, 0, 1, ctypes.byref(context))",
    ),
    _call("userfaultfd", "os.close(raw(323, 282, 1))"),
    _call("keys", "raw(250, 219, 0, -3, 1)"),
    _call("a key, added", "raw(248, 217, b'user', b'evalwright', b'x', 1, -1)"),
    _call("a key, asked for", "reach(249, 218, b'user', b'evalwright', 0, -1)"),
    _call("memory without a name", "os.close(raw(319, 279, b'x', 0))"),
    _call("memory that not even the kernel sees", "os.close(raw(447, 447, 0))", because=_ABSENT),
    _call("splice into a page of a file", "reach(278, 75, -1, 0, 0, 0)"),
    _call("splice", "reach(275, 76, -1, 0, -1, 0, 1, 0)"),
    _call("a personality", "raw(135, 92, 0x0400000)"),
    _call("segments", "reach(154, -1, 1, 0, 0)", machine="x86_64", because=_ABSENT),
    _call("ports", "raw(172, -1, 3)", machine="x86_64", because=_CHANGES),
    _call("a name for the machine", "reach(170, 161, 8, 1)", root=True),
    _call("a domain for the machine", "reach(171, 162, 8, 1)", root=True),
    _call("the time of day", "reach(164, 170, 8, 8)"),
    _call("a clock, set", "reach(227, 112, 0, 8)"),
    _call("a clock, adjusted", "reach(159, 171, 8)"),
    _call("the log of the kernel", "reach(103, 116, 10, 0, 0)", root=True),
    _call("accounting", "reach(163, 89, 8)", root=True),
    _call("quotas", "reach(179, 60, 0x80000200, 8, 0, 0)", because=_ABSENT),
    _call("a terminal, hung up", "raw(153, 58)", because=_CHANGES),
    _call("root", "raw(105, 146, 0)", root=True),
    _call("root's group", "raw(106, 144, 0)", root=True),
    _call("root, three times", "raw(117, 147, 0, 0, 0)", root=True),
    _call(
        "groups",
        "groups = (ctypes.c_uint32 * 1)(0)\nraw(116, 159, 1, ctypes.byref(groups))",
        root=True,
    ),
    _call(
        "capabilities, taken",
        "header = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"
        "sets = (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 0)\n"
        "raw(126, 91, ctypes.byref(header), ctypes.byref(sets))",
        root=True,
    ),
    _call(
        "capabilities, held",  # but for one: to read an interpreter that only root may
        "header = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"
        "sets = (ctypes.c_uint32 * 6)()\n"
        "raw(125, 90, ctypes.byref(header), ctypes.byref(sets))\n"
        "if not (sets[0] | sets[1] | sets[2]) & ~4 and not any(sets[3:]): raise OSError",
        root=True,
    ),
    _call("another's memory, given up", "reach(440, 440, -1, 0, 0, 0, 0)"),
    _call("a descriptor for a process", "os.close(raw(434, 434, os.getpid(), 0))"),
    _call("pages, moved to another node", "reach(256, 238, VICTIM, 1, 0, 0)", because=_ABSENT),
    _call("a System V segment", "raw(29, 194, 0, 4096, 0o1600)", because="it would stay"),
    _call("a System V semaphore", "raw(64, 190, 0, 1, 0o1600)", because="it would stay"),
    _call("a System V queue", "raw(68, 186, 0, 0o1600)", because="it would stay"),
    _call("a queue of messages", "reach(240, 180, b'evalwright-none', 0, 0, 0)"),
    _call("a socket, by number", "os.close(raw(41, 198, 2, 1, 0))"),
    _call("a number that nobody has", "raw(9999, 9999)", because="it fails anywhere"),
    _call(
        "a socket, by the numbers of another table",
        "raw(0x40000000 + 41, -1, 2, 1, 0)",
        machine="x86_64",
        because=_ABSENT,
    ),
    held(
        "a socket, by a 32-bit door",
        _SOCKET_32,
        ("attempt() == 'refused'",),
        "error",
        machine="x86_64",
        unheld="assertion_fail",
    ),
    refused(
        "the terminal's input, forged",
        "import fcntl\nfor number in range(3): fcntl.ioctl(number, 0x5412, b'x')",
        because="there may be none",
    ),
    refused(
        "the terminal's console",
        "import fcntl\nfcntl.ioctl(0, 0x541C, b'\\x03')",
        because="there may be none",
    ),
]
