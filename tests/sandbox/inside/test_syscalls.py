import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evalwright.sandbox.inside import libc, seccomp, syscalls

HEADERS = {
    "x86_64": (
        Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        Path("/usr/include/asm/unistd_64.h"),
    ),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"),),
}
LISTS = (syscalls.ALLOWED, syscalls.OWN_FILES, syscalls.UNSUPPORTED, tuple(seccomp._RULES))


def read(header: Path) -> dict[str, int]:
    """Number by name. Some names stand for another, which has the number."""
    text = header.read_text(encoding="utf-8")
    said: dict[str, str] = dict(
        re.findall(r"^#define (__NR(?:3264)?_\w+)\s+(\w+)", text, re.MULTILINE)
    )
    known = {}
    for name, stands_for in said.items():
        value = said.get(stands_for, stands_for)
        if name.startswith("__NR_") and value.isdigit():
            known[name.removeprefix("__NR_")] = int(value)
    return known


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    if header is None:
        pytest.skip("no headers of the kernel here")
    theirs = read(header)
    ours = syscalls.numbers(machine)

    shared = ours.keys() & theirs.keys()
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
    assert ours.keys() - theirs.keys() <= {"fchmodat2", "faccessat2", "close_range"}, "too new"
    missing = {name for names in LISTS for name in names} - ours.keys()
    assert not missing & theirs.keys()


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_no_two_calls_share_a_number(machine: str) -> None:
    numbers = syscalls.numbers(machine)

    assert len(set(numbers.values())) == len(numbers)


def test_what_came_lately_has_one_number_everywhere() -> None:
    x86_64, aarch64 = map(syscalls.numbers, syscalls.MACHINES)

    for name in x86_64.keys() & aarch64.keys():
        new = x86_64[name] >= 424
        assert new == (aarch64[name] >= 424)
        assert not new or x86_64[name] == aarch64[name]


def test_aarch64_has_no_call_that_x86_64_lacks() -> None:
    x86_64, aarch64 = map(syscalls.numbers, syscalls.MACHINES)

    assert aarch64.keys() < x86_64.keys()
    assert not aarch64.keys() & {"open", "stat", "poll", "pipe", "dup2", "rename", "unlink"}


def test_every_name_is_on_one_list() -> None:
    ours = {"capset", "pivot_root", "seccomp"}
    ours |= {"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self"}
    names = [name for names in (*LISTS, ours) for name in names]

    assert len(names) == len(set(names))
    assert set(names) == syscalls.numbers("x86_64").keys()


@pytest.mark.skipif(libc.MACHINE == "unknown", reason="no table for this machine")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("getpid", os.getpid),
        ("getppid", os.getppid),
        ("getuid", os.getuid),
        ("geteuid", os.geteuid),
        ("getgid", os.getgid),
        ("getegid", os.getegid),
        ("getsid", lambda: os.getsid(0)),
        ("sched_yield", lambda: 0),
    ],
)
def test_a_live_call_does_what_its_name_says(name: str, expected: Callable[[], int]) -> None:
    assert libc.syscall(name) == expected()


def test_an_unknown_machine_is_told_so() -> None:
    with pytest.raises(OSError, match="known for x86_64 and aarch64, not for this") as caught:
        syscalls.numbers("unknown")

    assert caught.value.errno == errno.ENOSYS


def test_a_call_that_a_machine_lacks_is_told_so() -> None:
    with pytest.raises(OSError, match="aarch64 has no such call: 'open'") as caught:
        syscalls.number("aarch64", "open")

    assert caught.value.errno == errno.ENOSYS
    assert syscalls.number("x86_64", "open") == 2
