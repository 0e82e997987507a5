"""The kernel's calls: their numbers, and which of them a candidate may make.

    ALLOWED      may be made with any arguments
    OWN_FILES    the same, but only where every file within reach is the candidate's own
    UNSUPPORTED  are answered as by a filesystem that does not have them

A call that is in none of them is refused, unless `seccomp` has a rule for its arguments. A name is
here only if something in the standard library, or libc on its behalf, has a use for the call.
"""

from __future__ import annotations

import errno

MACHINES = ("x86_64", "aarch64")

# fmt: off
ALLOWED = (
    # memory
    "brk", "madvise", "mprotect", "mremap", "msync", "munmap",
    # files, to read and to look at
    "access", "chdir", "close", "faccessat", "faccessat2", "fadvise64", "fchdir", "flock", "fstat",
    "fstatfs", "getcwd", "getdents64", "lseek", "lstat", "newfstatat", "pread64", "preadv",
    "preadv2", "read", "readlink", "readlinkat", "readv", "stat", "statfs", "statx", "umask",
    # files, to write: what could be opened for it
    "copy_file_range", "pwrite64", "pwritev", "pwritev2", "sendfile", "write", "writev",
    # descriptors
    "close_range", "dup", "dup2", "dup3", "eventfd2", "pipe", "pipe2",
    # waiting
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "poll", "ppoll",
    "pselect6", "select",
    # socket pairs
    "getpeername", "getsockname", "recvfrom", "recvmsg", "sendmsg", "shutdown",
    # time
    "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday",
    "nanosleep", "setitimer", "time", "timerfd_create", "timerfd_gettime", "timerfd_settime",
    "times",
    # threads
    "futex", "getcpu", "gettid", "rseq", "sched_getaffinity", "sched_yield", "set_robust_list",
    # signals
    "pause", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack",
    # own process
    "capget", "exit", "exit_group", "getegid", "geteuid", "getgid", "getgroups", "getpgid",
    "getpgrp", "getpid", "getppid", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid",
    "getuid", "setrlimit", "sysinfo", "uname", "wait4", "waitid",
    # randomness
    "getrandom",
)

# Landlock has no right for some of these, and the oldest Landlock not for `truncate`.
OWN_FILES = (
    "chmod", "fallocate", "fchmod", "fchmodat", "fchmodat2", "fdatasync", "fsync", "ftruncate",
    "link", "linkat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "rmdir", "symlink",
    "symlinkat", "truncate", "unlink", "unlinkat", "utimensat",
)

# With another error `shutil.copy2` would not go on without them.
UNSUPPORTED = (
    "fgetxattr", "flistxattr", "fremovexattr", "fsetxattr", "getxattr", "lgetxattr", "listxattr",
    "llistxattr", "lremovexattr", "lsetxattr", "removexattr", "setxattr",
)

# On x86_64 and on aarch64, which never had the calls that newer ones replace.
_NUMBERS = {
    "access": (21, None), "alarm": (37, None), "brk": (12, 214), "capget": (125, 90),
    "capset": (126, 91), "chdir": (80, 49), "chmod": (90, None), "clock_getres": (229, 114),
    "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "clone": (56, 220),
    "close": (3, 57), "close_range": (436, 436), "copy_file_range": (326, 285), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22), "epoll_wait": (232, None), "eventfd2": (290, 19), "exit": (60, 93),
    "exit_group": (231, 94), "faccessat": (269, 48), "faccessat2": (439, 439),
    "fadvise64": (221, 223), "fallocate": (285, 47), "fchdir": (81, 50), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "fcntl": (72, 25), "fdatasync": (75, 83),
    "fgetxattr": (193, 10), "flistxattr": (196, 13), "flock": (73, 32), "fremovexattr": (199, 16),
    "fsetxattr": (190, 7), "fstat": (5, 80), "fstatfs": (138, 44), "fsync": (74, 82),
    "ftruncate": (77, 46), "futex": (202, 98), "getcpu": (309, 168), "getcwd": (79, 17),
    "getdents64": (217, 61), "getegid": (108, 177), "geteuid": (107, 175), "getgid": (104, 176),
    "getgroups": (115, 158), "getitimer": (36, 102), "getpeername": (52, 205),
    "getpgid": (121, 155), "getpgrp": (111, None), "getpid": (39, 172), "getppid": (110, 173),
    "getrandom": (318, 278), "getresgid": (120, 150), "getresuid": (118, 148),
    "getrlimit": (97, 163), "getrusage": (98, 165), "getsid": (124, 156), "getsockname": (51, 204),
    "getsockopt": (55, 209), "gettid": (186, 178), "gettimeofday": (96, 169), "getuid": (102, 174),
    "getxattr": (191, 8), "ioctl": (16, 29), "kill": (62, 129), "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444), "landlock_restrict_self": (446, 446),
    "lgetxattr": (192, 9), "link": (86, None), "linkat": (265, 37), "listxattr": (194, 11),
    "llistxattr": (195, 12), "lremovexattr": (198, 15), "lseek": (8, 62), "lsetxattr": (189, 6),
    "lstat": (6, None), "madvise": (28, 233), "mkdir": (83, None), "mkdirat": (258, 34),
    "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216), "msync": (26, 227),
    "munmap": (11, 215), "nanosleep": (35, 101), "newfstatat": (262, 79), "open": (2, None),
    "openat": (257, 56), "pause": (34, None), "pipe": (22, None), "pipe2": (293, 59),
    "pivot_root": (155, 41), "poll": (7, None), "ppoll": (271, 73), "prctl": (157, 167),
    "pread64": (17, 67), "preadv": (295, 69), "preadv2": (327, 286), "prlimit64": (302, 261),
    "pselect6": (270, 72), "pwrite64": (18, 68), "pwritev": (296, 70), "pwritev2": (328, 287),
    "read": (0, 63), "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65),
    "recvfrom": (45, 207), "recvmsg": (47, 212), "removexattr": (197, 14), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "restart_syscall": (219, 128),
    "rmdir": (84, None), "rseq": (334, 293), "rt_sigaction": (13, 134), "rt_sigpending": (127, 136),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137), "sched_getaffinity": (204, 123), "sched_yield": (24, 124),
    "seccomp": (317, 277), "select": (23, None), "sendfile": (40, 71), "sendmsg": (46, 211),
    "sendto": (44, 206), "set_robust_list": (273, 99), "setitimer": (38, 103),
    "setrlimit": (160, 164), "setxattr": (188, 5), "shutdown": (48, 210), "sigaltstack": (131, 132),
    "socketpair": (53, 199), "stat": (4, None), "statfs": (137, 43), "statx": (332, 291),
    "symlink": (88, None), "symlinkat": (266, 36), "sysinfo": (99, 179), "tgkill": (234, 131),
    "time": (201, None), "timerfd_create": (283, 85), "timerfd_gettime": (287, 87),
    "timerfd_settime": (286, 86), "times": (100, 153), "tkill": (200, 130), "truncate": (76, 45),
    "umask": (95, 166), "uname": (63, 160), "unlink": (87, None), "unlinkat": (263, 35),
    "utimensat": (280, 88), "wait4": (61, 260), "waitid": (247, 95), "write": (1, 64),
    "writev": (20, 66),
}
# fmt: on


def numbers(machine: str) -> dict[str, int]:
    """Number by name, of the calls that the machine has. OSError for one that has no table."""
    column = _column(machine)
    pairs = _NUMBERS.items()
    return {name: number for name, both in pairs if (number := both[column]) is not None}


def number(machine: str, name: str) -> int:
    """Number of one call. OSError when the machine has no table, or its kernel no such call."""
    number = _NUMBERS[name][_column(machine)] if name in _NUMBERS else None
    if number is None:
        raise OSError(errno.ENOSYS, f"{machine} has no such call", name)
    return number


def _column(machine: str) -> int:
    if machine not in MACHINES:
        known = " and ".join(MACHINES)
        raise OSError(errno.ENOSYS, f"syscalls are known for {known}, not for this machine")
    return MACHINES.index(machine)
