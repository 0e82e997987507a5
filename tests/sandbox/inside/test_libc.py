import ctypes
import errno
import os
import types
from pathlib import Path

import pytest
from tests.sandbox.inside import bare

from evalwright.sandbox.inside import libc

pytestmark = pytest.mark.skipif(libc.MACHINE == "unknown", reason="no table for this machine")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")

STATUS = """
def status(*keys):
    with open("/proc/self/status") as file:
        lines = dict(line.rstrip("\\n").split(":\\t", 1) for line in file)
    return [lines[key] for key in keys]
SETS = "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"
"""
NONE = "0000000000000000"


def has(capability: int) -> bool:
    effective = int(bare.run(STATUS + "print(*status('CapEff'))"), 16)
    return bool(effective >> capability & 1)


def test_a_call_of_libc_returns_what_it_returns() -> None:
    assert libc.call("getpid") == os.getpid()


def test_a_call_that_fails_says_why_and_which() -> None:
    with pytest.raises(PermissionError if os.geteuid() else FileNotFoundError) as caught:
        libc.mount("none", "/nowhere/at/all", "tmpfs")

    assert caught.value.filename == "mount"
    with pytest.raises(OSError, match="Bad file descriptor: 'close'") as caught:
        libc.call("close", -1)
    assert caught.value.errno == errno.EBADF


def test_a_raw_call_that_fails_says_why_and_which() -> None:
    with pytest.raises(OSError, match="Bad file descriptor: 'close'"):
        libc.syscall("close", -1)
    with pytest.raises(OSError, match="Function not implemented: 'syscall 100000'") as caught:
        libc.syscall(100_000)
    assert caught.value.errno == errno.ENOSYS


def test_arguments_and_results_are_64_bits_wide(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        assert libc.syscall("lseek", file.fileno(), 2**33 + 5, os.SEEK_SET) == 2**33 + 5
        assert libc.syscall("lseek", file.fileno(), -5, os.SEEK_CUR) == 2**33


@pytest.mark.parametrize("name", ["bytes", "text", "NUL-free é"])
def test_text_and_bytes_are_pointers(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    libc.syscall("mkdirat", -100, str(path), 0o700)

    assert path.is_dir()
    libc.syscall("unlinkat", -100, os.fsencode(path), 0x200)
    assert not path.exists()


def test_what_lives_in_memory_is_passed_as_it_is() -> None:
    name = ctypes.create_string_buffer(16)

    assert libc.prctl(16, ctypes.byref(name)) == 0  # PR_GET_NAME
    assert name.value


def test_arguments_that_are_left_out_are_zero() -> None:
    # The kernel refuses PR_GET_NO_NEW_PRIVS when any of the other four is not.
    assert libc.prctl(39) in {0, 1}


@pytest.mark.parametrize("machine", ["riscv64", "i686", "armv7l", ""])
def test_another_machine_is_unknown(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    monkeypatch.setattr(os, "uname", lambda: types.SimpleNamespace(machine=machine))

    assert libc._machine() == "unknown"


def test_an_unknown_machine_fails_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libc, "MACHINE", "unknown")

    with pytest.raises(OSError, match="not for this machine"):
        libc.syscall("getpid")


def test_new_privileges_are_forbidden_for_good() -> None:
    script = STATUS + "from inside import libc\nlibc.forbid_new_privileges()"

    assert bare.run(script + "\nprint(*status('NoNewPrivs'))") == "1"


@as_root
def test_root_gives_up_every_capability() -> None:
    script = STATUS + "from inside import libc\nlibc.drop_capabilities()\nprint(*status(*SETS))"

    assert bare.run(script) == " ".join([NONE] * 5)


def test_a_user_who_has_none_gives_them_up_too() -> None:
    script = f"""{STATUS}
import os
from inside import libc
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
libc.drop_capabilities()
print(*status(*SETS[:3], SETS[4]))
"""

    assert bare.run(script) == " ".join([NONE] * 4)


@as_root
def test_one_capability_can_be_kept_over_a_change_of_user() -> None:
    script = f"""{STATUS}
import os
from inside import libc
libc.prctl(8, 1)  # PR_SET_KEEPCAPS
os.setresuid(65534, 65534, 65534)
libc.drop_capabilities(keep=2)
print(*status(*SETS), libc.prctl(7))  # PR_GET_KEEPCAPS
"""

    assert bare.run(script) == f"{NONE} {4:016x} {4:016x} {NONE} {NONE} 0"


@as_root
@pytest.mark.parametrize("capability", [0, 31, 32, 39])
def test_a_capability_of_either_half_can_be_kept(capability: int) -> None:
    script = f"""{STATUS}
from inside import libc
libc.drop_capabilities(keep={capability})
print(*status("CapPrm", "CapEff"))
"""

    if not has(capability):
        pytest.skip("not ours to keep")
    assert bare.run(script) == " ".join([f"{1 << capability:016x}"] * 2)


def test_a_capability_that_one_lacks_cannot_be_kept() -> None:
    script = """
import os
from inside import libc
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    libc.drop_capabilities(keep=2)
except PermissionError as error:
    print(error.filename)
"""

    assert bare.run(script) == "capset"


def test_a_root_of_ones_own() -> None:
    script = """
import os
from inside import libc
uid, gid = os.getuid(), os.getgid()
try:
    libc.call("unshare", 0x10020000)  # user and mount namespaces
except PermissionError:
    print("forbidden")
    os._exit(0)
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
libc.mount(None, "/", None, 0x44000)  # recursively private
libc.mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k")
os.mkdir("/tmp/inside")
os.chdir("/tmp")
libc.syscall("pivot_root", ".", ".")
libc.call("umount2", ".", 2)
os.chdir("/")
print(*os.listdir("/"))
"""

    said = bare.run(script)

    if said == "forbidden":
        pytest.skip("no user namespaces here")
    assert said == "inside"


def test_a_namespace_can_be_joined_again() -> None:
    script = """
import os
from inside import libc
try:
    first = os.open("/proc/self/ns/uts", os.O_RDONLY)
    libc.call("unshare", 0x04000000)
except PermissionError:
    print("forbidden")
    os._exit(0)
before = os.readlink("/proc/self/ns/uts")
libc.call("setns", first, 0x04000000)
print(before != os.readlink("/proc/self/ns/uts"))
"""

    said = bare.run(script)

    if said == "forbidden":
        pytest.skip("only root may")
    assert said == "True"


def test_it_needs_next_to_nothing() -> None:
    script = """
import __future__, ctypes, errno, os
before = set(sys.modules)
from inside import landlock, seccomp
print(*sorted(set(sys.modules) - before))
"""

    assert bare.run(script).split() == [
        "inside",
        "inside.landlock",
        "inside.libc",
        "inside.seccomp",
        "inside.syscalls",
        "inside.walls",
        "resource",
    ]
