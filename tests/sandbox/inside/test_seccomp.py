import errno
import signal
import socket
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sandbox.inside import bare
from tests.sandbox.inside.bpf import ARCHITECTURES, MOST_INSTRUCTIONS, Filter
from tests.sandbox.inside.honest import HONEST

from evalwright.sandbox.inside import libc, seccomp, syscalls

PID = 4711
MACHINES = syscalls.MACHINES
FILTERS = {
    (machine, own_files): Filter(seccomp.build_filter(machine, pid=PID, own_files=own_files))
    for machine, own_files in product(MACHINES, (False, True))
}
live = pytest.mark.skipif(libc.MACHINE == "unknown", reason="no table for this machine")

# Name, number on x86_64, number on aarch64, of calls that nobody inside has a use for.
REFUSED = """
accept 43 202
accept4 288 242
acct 163 89
add_key 248 217
adjtimex 159 171
arch_prctl 158 -
bind 49 200
bpf 321 280
chown 92 -
chroot 161 51
clock_adjtime 305 266
clock_settime 227 112
connect 42 203
creat 85 -
delete_module 176 106
execve 59 221
execveat 322 281
fanotify_init 300 262
fanotify_mark 301 263
fchown 93 55
fchownat 260 54
finit_module 313 273
fork 57 -
get_mempolicy 239 236
getpriority 140 141
init_module 175 105
inotify_add_watch 254 27
inotify_init1 294 26
io_setup 206 0
io_submit 209 2
ioperm 173 -
iopl 172 -
ioprio_set 251 30
kcmp 312 272
kexec_load 246 104
keyctl 250 219
lchown 94 -
listen 50 201
lookup_dcookie 212 18
mbind 237 235
memfd_create 319 279
migrate_pages 256 238
mknod 133 -
mknodat 259 33
mlock 149 228
mlock2 325 284
mlockall 151 230
modify_ldt 154 -
mount 165 40
move_pages 279 239
mq_open 240 180
msgget 68 186
msgsnd 69 189
name_to_handle_at 303 264
open_by_handle_at 304 265
perf_event_open 298 241
personality 135 92
pivot_root 155 41
pkey_alloc 330 289
process_vm_readv 310 270
process_vm_writev 311 271
ptrace 101 117
quotactl 179 60
reboot 169 142
request_key 249 218
rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
sched_setaffinity 203 122
sched_setattr 314 274
sched_setparam 142 118
sched_setscheduler 144 119
seccomp 317 277
semget 64 190
semop 65 193
set_mempolicy 238 237
setdomainname 171 162
setgid 106 144
setgroups 116 159
sethostname 170 161
setns 308 268
setpgid 109 154
setpriority 141 140
setregid 114 143
setresgid 119 149
setresuid 117 147
setreuid 113 145
setsid 112 157
setsockopt 54 208
settimeofday 164 170
setuid 105 146
shmat 30 196
shmget 29 194
signalfd4 289 74
socket 41 198
splice 275 76
swapoff 168 225
swapon 167 224
sync 162 81
syncfs 306 267
syslog 103 116
tee 276 77
timer_create 222 107
umount2 166 39
unshare 272 97
uselib 134 -
userfaultfd 323 282
ustat 136 -
vfork 58 -
vhangup 153 58
vmsplice 278 75
"""
# The same on both.
MISSING = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "pidfd_open": 434,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "futex_waitv": 449,
}


def low(value: int) -> int:
    return value & 0xFFFF_FFFF


Arguments = list[int]
# What the rules say, in other words than theirs.
RULES: dict[str, Callable[[Arguments], bool]] = {
    "clone": lambda a: low(a[0]) & ~0x0178_0000 == 0x0005_0F00,
    "fcntl": lambda a: low(a[1]) in {0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032},
    "getsockopt": lambda a: low(a[1]) == 1 and low(a[2]) in {3, 4, 7, 8, 38, 39},
    "ioctl": lambda a: low(a[1]) in {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x4004_9409},
    "kill": lambda a: low(a[0]) == PID,
    "tgkill": lambda a: low(a[0]) == PID,
    "tkill": lambda a: low(a[0]) == PID,
    "mmap": lambda a: not a[3] & 0x4_2000,
    "open": lambda a: low(a[1]) & 3 != 3 and not (a[1] & 3 == 0 and a[1] & 0x200),
    "openat": lambda a: low(a[2]) & 3 != 3 and not (a[2] & 3 == 0 and a[2] & 0x200),
    "prctl": lambda a: low(a[0]) in {3, 15, 16, 21, 39},
    "prlimit64": lambda a: low(a[0]) in {0, PID},
    "sendto": lambda a: a[4] == 0,
    "socketpair": lambda a: low(a[0]) == 1 and low(a[1]) & ~0x8_0800 == 1,
}


def expected(machine: str, number: int, arguments: Arguments, *, own_files: bool) -> str:
    names = {number: name for name, number in syscalls.numbers(machine).items()}
    name = names.get(number, "")
    if name in RULES:
        refusal = "ENOTTY" if name == "ioctl" else "EPERM"
        return "allow" if RULES[name](arguments) else refusal
    if name in syscalls.ALLOWED or (own_files and name in syscalls.OWN_FILES):
        return "allow"
    if name in syscalls.UNSUPPORTED:
        return "ENOTSUP"
    return "ENOSYS" if number >= 424 else "EPERM"


words = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 64),
    st.sampled_from([PID, PID + 2**32, 2**64 - PID, 2**64 - 1, 2**32, 2**63]),
    st.sampled_from([0x3D_0F00, 0x7D_0F00, 0x3D_0F00 | 2**40, 0x5401, 0x8_0801, 0x4004_9409]),
    st.integers(0, 63).map(lambda bit: 1 << bit),
)


@given(
    st.sampled_from(sorted(FILTERS)),
    st.one_of(st.integers(0, 500), st.integers(0, 2**32 - 1)),
    st.lists(words, min_size=6, max_size=6),
)
def test_every_call_gets_the_answer_that_the_lists_and_the_rules_say(
    which: tuple[str, bool], number: int, arguments: Arguments
) -> None:
    machine, own_files = which

    answer = FILTERS[which].answer(ARCHITECTURES[machine], number, *arguments)

    assert answer == expected(machine, number, arguments, own_files=own_files)


@given(
    st.sampled_from(sorted(FILTERS)),
    st.sampled_from(sorted(RULES)),
    st.lists(words, min_size=6, max_size=6),
)
def test_every_rule_looks_at_its_arguments(
    which: tuple[str, bool], name: str, arguments: Arguments
) -> None:
    machine, own_files = which
    number = syscalls.numbers(machine).get(name)
    if number is not None:
        answer = FILTERS[which].answer(ARCHITECTURES[machine], number, *arguments)
        assert answer == expected(machine, number, arguments, own_files=own_files)


@pytest.mark.parametrize("which", sorted(FILTERS), ids=str)
@pytest.mark.parametrize("fill", [0, 1, PID, 2**64 - 1], ids=hex)
def test_every_number_there_is_and_a_few_beyond(which: tuple[str, bool], fill: int) -> None:
    machine, own_files = which
    arguments = [fill] * 6
    edges = [0x4000_0000, 0x4000_0000 + 59, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]

    for number in (*range(1100), *edges):
        answer = FILTERS[which].answer(ARCHITECTURES[machine], number, *arguments)
        assert answer == expected(machine, number, arguments, own_files=own_files), number


def test_the_rules_here_are_the_rules_there() -> None:
    assert RULES.keys() == seccomp._RULES.keys()


@pytest.mark.parametrize("which", sorted(FILTERS), ids=str)
def test_what_nobody_needs_is_refused(which: tuple[str, bool]) -> None:
    machine, _ = which
    for line in REFUSED.strip().splitlines():
        name, *numbers = line.split()
        number = numbers[MACHINES.index(machine)]
        if number != "-":
            for fill in (0, 1, PID, 2**64 - 1):
                answer = FILTERS[which].answer(ARCHITECTURES[machine], int(number), *[fill] * 6)
                assert answer == "EPERM", name


@pytest.mark.parametrize("which", sorted(FILTERS), ids=str)
def test_what_came_lately_is_not_there(which: tuple[str, bool]) -> None:
    for name, number in MISSING.items():
        assert FILTERS[which].answer(ARCHITECTURES[which[0]], number) == "ENOSYS", name


@pytest.mark.parametrize("which", sorted(FILTERS), ids=str)
@pytest.mark.parametrize("other", [0x4000_0003, 0x4000_0028, 0xC000_003E, 0xC000_00B7, 0], ids=hex)
def test_the_calls_of_another_architecture_kill(which: tuple[str, bool], other: int) -> None:
    if other != ARCHITECTURES[which[0]]:
        for number in range(500):
            assert FILTERS[which].answer(other, number) == "kill"


@pytest.mark.parametrize("name", syscalls.OWN_FILES)
@pytest.mark.parametrize("machine", MACHINES)
def test_files_that_are_not_the_candidates_own_stay_as_they_are(machine: str, name: str) -> None:
    number = syscalls.numbers(machine).get(name)
    if number is not None:
        refusal = "ENOSYS" if number >= 424 else "EPERM"
        assert FILTERS[machine, False].answer(ARCHITECTURES[machine], number) == refusal
        assert FILTERS[machine, True].answer(ARCHITECTURES[machine], number) == "allow"


@pytest.mark.parametrize(
    ("flags", "answer"),
    [
        pytest.param(0x3D_0F00, "allow", id="a thread of glibc"),
        pytest.param(0x7D_0F00, "allow", id="a thread of musl"),
        pytest.param(0x3D_0F00 | 1 << 40, "allow", id="with a bit that the kernel ignores"),
        pytest.param(0x0120_0011, "EPERM", id="fork"),
        pytest.param(0x4111, "EPERM", id="vfork, posix_spawn"),
        pytest.param(0x3D_0E00, "EPERM", id="a thread without the memory"),
        pytest.param(0x3D_0700, "EPERM", id="a thread without the handlers"),
        pytest.param(0x3C_0F00, "EPERM", id="a process with all the rest"),
        pytest.param(0x3D_0F00 | 0x1000_0000, "EPERM", id="a user namespace"),
        pytest.param(0x3D_0F00 | 0x2000_0000, "EPERM", id="a pid namespace"),
        pytest.param(0x3D_0F00 | 0x0002_0000, "EPERM", id="a mount namespace"),
        pytest.param(0x3D_0F00 | 0x4000_0000, "EPERM", id="a network namespace"),
        pytest.param(0x3D_0F00 | 0x2000, "EPERM", id="traced"),
        pytest.param(0x3D_0F00 | 0x8000, "EPERM", id="a child of the parent"),
        pytest.param(0x3D_0F00 | 0x1000, "EPERM", id="with a pidfd"),
        pytest.param(0x3D_0F00 | 17, "EPERM", id="with a signal at its end"),
    ],
)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_new_thread_shares_everything(machine: str, flags: int, answer: str) -> None:
    number = syscalls.number(machine, "clone")

    assert FILTERS[machine, True].answer(ARCHITECTURES[machine], number, flags) == answer


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        (PID, "allow"),
        (PID + 2**32, "allow"),
        (0, "EPERM"),
        (-1, "EPERM"),
        (-PID, "EPERM"),
        (1, "EPERM"),
        (PID + 1, "EPERM"),
    ],
)
@pytest.mark.parametrize("name", ["kill", "tgkill", "tkill"])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_signal_goes_to_oneself_or_nowhere(
    machine: str, name: str, target: int, answer: str
) -> None:
    number = syscalls.number(machine, name)

    assert FILTERS[machine, True].answer(ARCHITECTURES[machine], number, target) == answer


@pytest.mark.parametrize("pid", [1, 2, PID, 2**22])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_pid_is_where_it_belongs_and_nowhere_else(machine: str, pid: int) -> None:
    ours = Filter(seccomp.build_filter(machine, pid=pid, own_files=True)).steps
    others = FILTERS[machine, True].steps

    assert [(*step[:3], pid) if step[3] == PID else step for step in others] == ours
    assert any(step[3] == PID for step in others)


@pytest.mark.parametrize("pid", [0, -1, -PID])
def test_a_group_is_not_a_process(pid: int) -> None:
    with pytest.raises(ValueError, match=f"`{pid}` is not the number of a process"):
        seccomp.build_filter("x86_64", pid=pid)


@pytest.mark.parametrize("which", sorted(FILTERS), ids=str)
def test_no_jump_leads_out_of_the_program(which: tuple[str, bool]) -> None:
    steps = FILTERS[which].steps

    assert len(steps) < MOST_INSTRUCTIONS / 4
    for at, (code, if_so, if_not, _) in enumerate(steps):
        assert at + 1 + max(if_so, if_not) < len(steps) or code == 0x06
    assert steps[-1][0] == 0x06


def test_there_is_no_filter_for_an_unknown_machine() -> None:
    with pytest.raises(OSError, match="not for this machine"):
        seccomp.build_filter("unknown", pid=PID)


INSTALL = """
import ctypes, errno, os, signal, socket, sys
from inside import libc, seccomp, syscalls
parent = os.getppid()
ctypes_libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = ctypes_libc.syscall(*[ctypes.c_long(n) for n in (number, *arguments)])
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result
def tried(action):
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno]
libc.forbid_new_privileges()
seccomp.PreparedFilter(own_files=True).install()
"""


@live
@pytest.mark.parametrize(
    ("attempt", "answer"),
    [
        ("os.fork()", "EPERM"),
        ("os.posix_spawn('/bin/true', ['true'], {})", "EPERM"),
        ("os.execv('/bin/true', ['true'])", "EPERM"),
        ("os.system('true') == 0", "False"),
        ("socket.socket()", "EPERM"),
        ("socket.socket(socket.AF_UNIX)", "EPERM"),
        ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "EPERM"),
        ("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "EPERM"),
        ("socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)", "EPERM"),
        ("socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)", "EPERM"),
        ("socket.socketpair()[0].sendto(b'x', '/dev/log')", "EPERM"),
        ("socket.socketpair()[0].setsockopt(1, 26, b'x' * 16)", "EPERM"),
        ("socket.socketpair()[0].getsockopt(1, 77)", "EPERM"),
        ("socket.socketpair()[0].listen()", "EPERM"),
        ("os.kill(parent, 0)", "EPERM"),
        ("os.kill(parent, signal.SIGKILL)", "EPERM"),
        ("os.kill(1, 0)", "EPERM"),
        ("os.kill(0, 0)", "EPERM"),
        ("os.kill(-1, 0)", "EPERM"),
        ("os.kill(-os.getpid(), 0)", "EPERM"),
        ("os.killpg(0, 0)", "EPERM"),
        ("os.setsid()", "EPERM"),
        ("os.setpgid(0, 0)", "EPERM"),
        ("os.setuid(0)", "EPERM"),
        ("os.setgroups([])", "EPERM"),
        ("os.nice(0)", "EPERM"),
        ("os.sched_setaffinity(0, {0})", "EPERM"),
        ("os.sched_setaffinity(parent, {0})", "EPERM"),
        ("os.chroot('.')", "EPERM"),
        ("os.mkfifo('fifo')", "EPERM"),
        ("os.mknod('node')", "EPERM"),
        ("os.chown('.', -1, -1)", "EPERM"),
        ("os.memfd_create('x')", "EPERM"),
        ("os.pidfd_open(parent)", "ENOSYS"),
        ("os.open('/etc/passwd', 3)", "EPERM"),
        ("os.open('/etc/passwd', os.O_TRUNC)", "EPERM"),
        ("os.setxattr('.', 'user.x', b'')", "ENOTSUP"),
        ("ctypes_libc.ptrace(0, 0, 0, 0)", "-1"),
        ("__import__('resource').prlimit(parent, 0)", "EPERM"),
        ("__import__('fcntl').fcntl(0, 8, parent)", "EPERM"),
        ("__import__('fcntl').fcntl(0, 10, 9)", "EPERM"),
        ("__import__('fcntl').ioctl(0, 0x5412, b'x')", "ENOTTY"),
        ("libc.prctl(1, 0)", "EPERM"),
        ("libc.prctl(4, 1)", "EPERM"),
        ("libc.call('unshare', 0x10000000)", "EPERM"),
        ("libc.call('unshare', 0x20000000)", "EPERM"),
        ("libc.mount('none', '.', 'tmpfs')", "EPERM"),
        ("libc.syscall('pivot_root', '.', '.')", "EPERM"),
        ("libc.syscall('seccomp', 0, 0, None)", "EPERM"),
        ("libc.syscall('landlock_create_ruleset', None, 0, 1)", "ENOSYS"),
        ("call(435)", "ENOSYS"),
        ("call(425)", "ENOSYS"),
        ("call(9999)", "ENOSYS"),
        ("call(-1)", "ENOSYS"),
        ("call(0x40000000 + 39)", "ENOSYS"),
        ("libc.syscall('tkill', parent, 0)", "EPERM"),
        ("libc.syscall('tgkill', parent, parent, 0)", "EPERM"),
        ("libc.syscall('tgkill', os.getpid(), parent, 0)", "ESRCH"),
        ("libc.syscall('mmap', 0, 4096, 3, 0x2022, -1, 0)", "EPERM"),
        ("libc.syscall('mmap', 0, 1 << 21, 3, 0x40022, -1, 0)", "EPERM"),
    ],
)
def test_the_kernel_refuses(attempt: str, answer: str, tmp_path: Path) -> None:
    script = f"{INSTALL}\nprint(tried(lambda: {attempt}))"

    assert bare.run(script, cwd=tmp_path) == answer


@live
@pytest.mark.parametrize(
    "attempt",
    [
        "os.mkdir('new')",
        "os.rename('old', 'new')",
        "os.link('old', 'new')",
        "os.symlink('old', 'new')",
        "os.unlink('old')",
        "os.chmod('old', 0)",
        "os.utime('old')",
        "os.truncate('old', 0)",
        "os.fsync(0)",
    ],
)
def test_the_kernel_leaves_files_that_are_not_the_candidates_own(
    attempt: str, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    before = old.stat()
    script = (
        f"{INSTALL.replace('own_files=True', 'own_files=False')}\nprint(tried(lambda: {attempt}))"
    )

    assert bare.run(script, cwd=tmp_path) == "EPERM"
    assert list(tmp_path.iterdir()) == [old]
    after = old.stat()
    assert (before.st_mode, before.st_mtime_ns, before.st_size, before.st_nlink) == (
        after.st_mode,
        after.st_mtime_ns,
        after.st_size,
        after.st_nlink,
    )


@live
def test_the_calls_of_32_bit_programs_kill() -> None:
    if libc.MACHINE != "x86_64":
        pytest.skip("`int 0x80` is of x86")
    # mov eax, 20 (getpid); int 0x80; ret
    script = f"""{INSTALL}
import mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(bytes.fromhex("b814000000cd80c3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
"""

    ended = bare.ended_with(script)

    assert (ended.returncode, ended.stdout) == (-signal.SIGSYS, "")


@live
def test_the_filter_is_on_all_threads_to_come() -> None:
    script = f"""{INSTALL}
import threading
said = []
thread = threading.Thread(target=lambda: said.append(tried(os.fork)))
thread.start()
thread.join()
print(*said)
"""

    assert bare.run(script) == "EPERM"


@live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGABRT, signal.SIGKILL])
def test_one_can_end_oneself(number: int) -> None:
    ended = bare.ended_with(f"{INSTALL}\nos.kill(os.getpid(), {number})")

    assert ended.returncode == -number


@live
def test_abort_is_heard() -> None:
    assert bare.ended_with(f"{INSTALL}\nos.abort()").returncode == -signal.SIGABRT


@live
@pytest.mark.parametrize("program", HONEST)
def test_honest_programs_work(program: str, tmp_path: Path) -> None:
    script = f"{INSTALL}\nexec(compile(sys.argv[1], '<honest>', 'exec'), {{'__name__': 'honest'}})"

    assert bare.run(script + "\nprint('done')", HONEST[program], cwd=tmp_path) == "done"


@live
def test_a_pair_is_a_stream() -> None:
    script = f"{INSTALL}\none, two = socket.socketpair()\nprint(int(one.type))"

    assert bare.run(script) == str(int(socket.SOCK_STREAM))


@live
def test_it_cannot_be_put_on_twice() -> None:
    script = f"{INSTALL}\nprint(tried(seccomp.PreparedFilter().install))"

    assert bare.run(script) == errno.errorcode[errno.EPERM]
