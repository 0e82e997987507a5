"""Needs of shared objects are read and followed as the dynamic loader does."""

import os
import struct
from pathlib import Path

import pytest

from evalwright.sandbox.inside import elf
from evalwright.sandbox.inside.elf import Libraries, read

MACHINE = {"x86_64": 62, "aarch64": 183}.get(os.uname().machine, 0)
OTHER_MACHINE = 3
NEEDED, STRTAB, RPATH, RUNPATH = 1, 5, 15, 29


def shared_object(
    *needed: str,
    rpath: str | None = None,
    runpath: str | None = None,
    interpreter: str = "",
    machine: int = MACHINE,
) -> bytes:
    """A file that asks for this, and has no code."""
    strings = b"\0"
    dynamic = []
    wanted = [*((NEEDED, name) for name in needed), (RPATH, rpath), (RUNPATH, runpath)]
    for tag, text in wanted:
        if text is not None:
            dynamic.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    base = 0x1000  # addresses are not places in the file
    at = 64 + 3 * 56
    dynamic += [(STRTAB, base + at), (0, 0), (NEEDED, 0)]  # what follows the end is no need
    table = b"".join(struct.pack("<QQ", *pair) for pair in dynamic)
    asked = interpreter.encode() + b"\0"
    size = at + len(strings) + len(table) + len(asked)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)  # fmt: skip  # noqa: E501
    segments = [
        (1, 0, base, size),
        (2, at + len(strings), 0, len(table)),
        (3 if interpreter else 4, at + len(strings) + len(table), 0, len(asked)),
    ]
    body = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, address, 0, length, length, 8)
        for kind, offset, address, length in segments
    )
    return header + body + strings + table + asked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test puts libraries; nothing of this machine's is found."""
    monkeypatch.setattr(elf, "CACHE", str(tmp_path / "ld.so.cache"))
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    return tmp_path


def found(folder: Path, *, executable: bytes = b"") -> set[str]:
    """What `folder/main.so` needs."""
    (folder / "python").write_bytes(executable)
    libraries = Libraries(str(folder / "python"))
    libraries.add(str(folder / "main.so"))
    return {path.removeprefix(f"{folder}/") for path in libraries.paths}


def test_needs_are_read(tmp_path: Path) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(shared_object("libc.so.6", "libm.so.6", runpath="/a:$ORIGIN/../b"))

    object_ = read(str(file))

    assert object_ is not None
    assert object_.needed == ["libc.so.6", "libm.so.6"]
    assert object_.runpath == ("/a", f"{tmp_path}/../b")
    assert object_.rpath == ()


def test_a_runpath_makes_an_rpath_void(tmp_path: Path) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(shared_object(rpath="/a", runpath="/b"))

    object_ = read(str(file))

    assert object_ is not None
    assert (object_.rpath, object_.runpath) == ((), ("/b",))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"INPUT(-lncursesw)\n" * 9, id="a script of the linker"),
        pytest.param(shared_object("x", machine=OTHER_MACHINE), id="another machine"),
        pytest.param(shared_object("x")[:40], id="cut in its header"),
        pytest.param(shared_object("x")[:4] + b"\x01" + shared_object("x")[5:], id="32 bits"),
    ],
)
def test_a_file_that_is_no_shared_object_of_this_machine_is_passed_over(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "x.so").write_bytes(content)

    assert read(str(tmp_path / "x.so")) is None


@pytest.mark.parametrize("name", ["missing", "folder", "pipe", "loop", "nul\0"])
def test_what_cannot_be_read_is_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    assert read(f"{tmp_path}/{name}") is None


def test_no_damage_to_a_file_is_a_crash(tmp_path: Path) -> None:
    whole = shared_object("liba.so", "libb.so", rpath="/a", interpreter="/lib/ld.so")
    file = tmp_path / "x.so"

    for at in range(len(whole)):
        for byte in (0x00, 0xFF, 0x80):
            file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            read(str(file))
        file.write_bytes(whole[:at])
        read(str(file))


def test_needs_of_needs_are_followed_and_circles_end(folder: Path) -> None:
    (folder / "main.so").write_bytes(shared_object("liba.so", runpath="$ORIGIN/a"))
    (folder / "a/liba.so").write_bytes(shared_object("libb.so", runpath="${ORIGIN}/../b/"))
    (folder / "b/libb.so").write_bytes(shared_object("liba.so", runpath="$ORIGIN/../a"))

    assert found(folder) == {"a/liba.so", "a/../b/libb.so", "a/../b/../a/liba.so"}


def test_an_rpath_is_inherited_and_a_runpath_is_not(folder: Path) -> None:
    (folder / "main.so").write_bytes(shared_object("liba.so", rpath=f"{folder}/a"))
    (folder / "a/liba.so").write_bytes(shared_object("libb.so"))
    (folder / "a/libb.so").write_bytes(shared_object("libc-.so", runpath=f"{folder}/b"))
    (folder / "b/libc-.so").write_bytes(shared_object("libd.so"))
    (folder / "b/libd.so").write_bytes(shared_object())

    assert found(folder) == {"a/liba.so", "a/libb.so", "b/libc-.so"}


def test_the_rpath_of_the_executable_is_everybodys(folder: Path) -> None:
    (folder / "main.so").write_bytes(shared_object("liba.so"))
    (folder / "a/liba.so").write_bytes(shared_object())

    assert found(folder, executable=shared_object(rpath="$ORIGIN/a")) == {"a/liba.so"}


def test_what_the_executable_has_loaded_is_not_searched_again(folder: Path) -> None:
    (folder / "main.so").write_bytes(shared_object("liba.so", runpath=f"{folder}/b"))
    (folder / "a/liba.so").write_bytes(shared_object())
    (folder / "b/liba.so").write_bytes(shared_object())

    assert found(folder, executable=shared_object("liba.so", runpath="$ORIGIN/a")) == {"a/liba.so"}


def test_a_library_of_another_machine_does_not_end_the_search(folder: Path) -> None:
    search = f"{folder}/a:{folder}/b"
    (folder / "main.so").write_bytes(shared_object("liba.so", runpath=search))
    (folder / "a/liba.so").write_bytes(shared_object(machine=OTHER_MACHINE))
    (folder / "b/liba.so").write_bytes(shared_object())

    assert found(folder) == {"b/liba.so"}


def test_the_loader_itself_is_needed(folder: Path) -> None:
    (folder / "main.so").write_bytes(shared_object())

    assert found(folder, executable=shared_object(interpreter="/lib/ld.so")) == {"/lib/ld.so"}


def cache(*entries: tuple[str, str]) -> bytes:
    """A cache of the loader, behind the older format that some systems write too."""
    strings, table = b"", b""
    start = 48 + 24 * len(entries)
    for name, path in entries:
        places = start + len(strings), start + len(strings) + len(name) + 1
        strings += name.encode() + b"\0" + path.encode() + b"\0"
        table += struct.pack("<iIIIQ", 0x303, *places, 0, 0)
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II20x", len(entries), len(strings))
    return b"ld.so-1.7.0\0" + bytes(4) + head + table + strings


def test_all_that_the_cache_knows_of_a_name_is_found(folder: Path) -> None:
    for place in ("a/liba.so", "b/liba.so", "c/libb.so"):
        (folder / place).write_bytes(shared_object())
    places = [("liba.so", f"{folder}/a/liba.so"), ("liba.so", f"{folder}/b/liba.so")]
    (folder / "ld.so.cache").write_bytes(cache(("libx.so", "/gone"), *places))
    libraries = Libraries("/nowhere")

    libraries.add_name("liba.so")

    assert libraries.needs_cache
    assert libraries.paths == {f"{folder}/a/liba.so", f"{folder}/b/liba.so"}


def test_a_cache_that_knows_only_what_is_gone_is_not_needed(folder: Path) -> None:
    (folder / "ld.so.cache").write_bytes(cache(("libx.so", f"{folder}/gone")))
    libraries = Libraries("/nowhere")

    libraries.add_name("libx.so")

    assert not libraries.needs_cache
    assert libraries.paths == set()


def test_a_cache_is_not_needed_for_what_is_loaded_already(folder: Path) -> None:
    (folder / "a/liba.so").write_bytes(shared_object())
    (folder / "ld.so.cache").write_bytes(cache(("liba.so", f"{folder}/a/liba.so")))
    (folder / "python").write_bytes(shared_object("liba.so"))
    libraries = Libraries(str(folder / "python"))

    libraries.add_name("liba.so")

    assert libraries.paths == {f"{folder}/a/liba.so"}
    assert not libraries.needs_cache


def test_a_damaged_cache_is_passed_over(folder: Path) -> None:
    (folder / "a/liba.so").write_bytes(shared_object())
    whole = cache(("liba.so", f"{folder}/a/liba.so"))

    for size in range(len(whole)):
        (folder / "ld.so.cache").write_bytes(whole[:size])
        libraries = Libraries("/nowhere")
        libraries.add_name("liba.so")
        assert libraries.paths == set()
