"""A survey names all that the standard library needs, and nothing that a candidate must not see.

Each interpreter of this machine is surveyed. Then it imports its whole library twice: outside, and
where nothing is to be seen but what the survey named. What fails must be the same.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.living import PATIENCE_S

from evalwright.sandbox.inside import layout

SANDBOX = Path(layout.__file__).parent.parent

SURVEY = """
import sys
sys.path.insert(0, sys.argv[1])
from inside import layout
surveyed = layout.survey(sys.argv[2:])
"""
SHOW = """
import json
print(json.dumps({name: getattr(surveyed, name) for name in layout.JailLayout._fields}))
"""
# A root of its own, as a user without rights can make it.
ROOT = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments):
        error = ctypes.get_errno()
        print("no namespaces:", name, os.strerror(error))
        os._exit(7)
uid, gid = os.getuid(), os.getgid()
call("unshare", 0x10000000 | 0x00020000)
for file, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"):
    with open(f"/proc/self/{file}", "w") as stream: stream.write(text)
def mount(source, target, kind, flags):
    call("mount", source.encode(), target.encode(), kind, ctypes.c_ulong(flags), None)
def cover(path): mount("tmpfs", path, b"tmpfs", 0)
mount("none", "/", None, 0x44000)
new = "/mnt" if os.path.isdir("/mnt") else "/tmp"
shown = {path: os.open(path, os.O_PATH) for path in surveyed.directories + surveyed.files}
cover(new)
for path in sorted([*shown, *surveyed.hidden]):
    inside = new + path
    os.makedirs(os.path.dirname(inside), exist_ok=True)
    if path in surveyed.files: open(inside, "x").close()
    else: os.makedirs(inside, exist_ok=True)
    if path in surveyed.hidden: cover(inside)
    else: mount(f"/proc/self/fd/{shown[path]}", inside, None, 0x1000)
for place, target in surveyed.links:
    os.makedirs(os.path.dirname(new + place), exist_ok=True)
    os.symlink(target, new + place)
os.chdir(new)
os.chroot(".")
"""
# As a system that allows no namespaces does it.
LANDLOCK = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
READ, LIST, MAKE = 1 << 2, 1 << 3, 1 << 8  # nothing is made: there is no way to delete it again
handled = ctypes.c_uint64(READ | LIST | MAKE)
rules = libc.syscall(444, ctypes.byref(handled), ctypes.c_size_t(8), 0)
if rules < 0:
    print("no Landlock")
    os._exit(7)
def allow(path, rights):
    class Rule(ctypes.Structure):
        _pack_, _layout_ = 1, "ms"
        _fields_ = (("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32))
    rule = Rule(rights, os.open(path, os.O_PATH))
    assert libc.syscall(445, rules, 1, ctypes.byref(rule), 0) == 0, path
    os.close(rule.fd)
for path in surveyed.open_directories: allow(path, READ | LIST)
for path in surveyed.open_files: allow(path, READ)
for path in surveyed.listable: allow(path, LIST)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.syscall(446, rules, 0) == 0
"""
IMPORT_ALL = """
import importlib, json, sys
sys.path_importer_cache.clear()
OTHERS = ["asyncio.unix_events", "concurrent.futures.process", "ctypes.util", "email.mime.text",
    "encodings.idna", "encodings.cp1252", "encodings.shift_jis", "multiprocessing.pool",
    "importlib.metadata", "os.path", "unittest.mock", "urllib.request", "xml.etree.ElementTree",
    "xml.dom.minidom", "xml.sax.expatreader", "logging.config", "tkinter.ttk", "sqlite3.dbapi2"]
LOUD = {"antigravity", "this", "idlelib"}
failed = []
for name in [*sorted(sys.stdlib_module_names - LOUD), *OTHERS]:
    try: importlib.import_module(name)
    except BaseException: failed.append(name)
try:
    import zoneinfo
    zoneinfo.ZoneInfo("Europe/Paris")
except Exception: failed.append("the time in Paris")
print(json.dumps(failed))
sys.stdout.flush()
"""
JAILS = [pytest.param(ROOT, id="root"), pytest.param(LANDLOCK, id="landlock")]


def interpreters() -> list[Any]:
    homes = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    candidates = [Path(sys.executable), Path("/usr/bin/python3"), *homes]
    return [
        pytest.param(path, id=str(path).replace(str(Path.home()), "~"))
        for path in candidates
        if path.exists() and version(path) >= (3, 11)
    ]


def version(path: Path) -> tuple[int, ...]:
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([path, "-S", "-c", code], check=False, capture_output=True, text=True)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


def run(python: Path, code: str, *packages: Path) -> str:
    """Run with nothing in `sys.path` but the library, as a worker does."""
    command = [str(python), "-s", "-S", "-P", "-W", "ignore", "-c", code, str(SANDBOX)]
    command += map(str, packages)
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={}, cwd="/", timeout=PATIENCE_S
    )
    if done.returncode == 7:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("\n")[2]


def survey(python: Path, *packages: Path) -> dict[str, Any]:
    surveyed: dict[str, Any] = json.loads(run(python, SURVEY + SHOW, *packages))
    return surveyed


@pytest.fixture(params=interpreters(), scope="module")
def python(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def outside(python: Path) -> list[str]:
    """What cannot be imported on this machine at all."""
    failed: list[str] = json.loads(run(python, IMPORT_ALL))
    return failed


@pytest.mark.parametrize("jail", JAILS)
def test_the_whole_library_can_be_imported(python: Path, outside: list[str], jail: str) -> None:
    assert json.loads(run(python, SURVEY + jail + IMPORT_ALL)) == outside


def test_paths_are_absolute_real_sorted_and_apart(python: Path) -> None:
    surveyed = survey(python)

    for name in ("directories", "files", "hidden", "listable", "open_directories", "open_files"):
        paths = [Path(path) for path in surveyed[name]]
        assert surveyed[name] == sorted(surveyed[name])
        assert [path.resolve() for path in paths] == paths
        folders = {
            Path(path) for path in surveyed["directories"] if name in {"directories", "files"}
        }
        assert not [path for path in paths if folders & set(path.parents)]
    assert all(Path(path).is_dir() for path in surveyed["directories"] + surveyed["hidden"])
    assert all(Path(path).is_file() for path in surveyed["files"])


def test_every_link_is_the_one_of_the_host(python: Path) -> None:
    links = survey(python)["links"]

    assert links
    for place, target in links:
        assert os.readlink(place) == target  # noqa: PTH115 - as it is written, not as a path
        assert Path(place).parent.resolve() == Path(place).parent


def test_nothing_private_is_shown(python: Path) -> None:
    surveyed = survey(python)
    private = [Path.home(), Path("/etc"), Path("/proc"), SANDBOX, Path("/usr/bin"), Path("/tmp")]  # noqa: S108 - none of it is used

    for path in map(Path, surveyed["directories"]):
        assert not [each for each in private if each == path or path in each.parents]
    for path in map(Path, surveyed["open_directories"] + surveyed["open_files"]):
        assert not {"site-packages", "dist-packages", "etc", "bin"} & set(path.parts)


READ_PACKAGES = """
import glob
found = []
for folder in [*sys.path, *surveyed.directories]:
    for file in glob.glob(f"{folder}/*-packages/*/*.py")[:20]:
        try: found.append(open(file).readline())
        except OSError: pass
print(found)
"""


@pytest.mark.parametrize("jail", JAILS)
def test_installed_packages_cannot_be_read(python: Path, jail: str) -> None:
    assert run(python, SURVEY + jail + READ_PACKAGES) == "[]"


def test_a_package_is_shown_with_its_libraries(tmp_path: Path) -> None:
    for name in ("paper", "paper.libs", "rock", "rock.libs"):
        (tmp_path / name).mkdir()
    module = tmp_path / "six.py"
    compiled = tmp_path / "__pycache__" / f"six.{sys.implementation.cache_tag}.pyc"
    compiled.parent.mkdir()
    for file in (module, compiled, tmp_path / "seven.py"):
        file.write_text("")

    surveyed = survey(Path(sys.executable), tmp_path / "paper", module, tmp_path / "gone")

    assert within(tmp_path, surveyed["directories"]) == ["paper", "paper.libs"]
    assert within(tmp_path, surveyed["open_directories"]) == ["paper", "paper.libs"]
    assert within(tmp_path, surveyed["files"]) == [f"__pycache__/{compiled.name}", "six.py"]


def within(folder: Path, paths: list[str]) -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in paths if path.startswith(f"{folder}/")]


def test_a_package_in_a_hidden_directory_is_shown_there(tmp_path: Path) -> None:
    for name in ("site-packages/paper", "site-packages/rock", "dist-packages", "json"):
        (tmp_path / "lib" / name).mkdir(parents=True)
    (tmp_path / "lib" / "os.py").write_text("")
    paths = f"sys.path.append({str(tmp_path / 'lib')!r})\nsurveyed ="
    package = tmp_path / "lib/site-packages/paper"

    surveyed = json.loads(
        run(Path(sys.executable), SURVEY.replace("surveyed =", paths) + SHOW, package)
    )

    shown = {name: within(tmp_path, paths) for name, paths in surveyed.items() if name != "links"}
    assert shown == {
        "directories": ["lib", "lib/site-packages/paper"],
        "files": [],
        "hidden": ["lib/dist-packages", "lib/site-packages"],
        "listable": ["lib"],
        "open_directories": ["lib/json", "lib/site-packages/paper"],
        "open_files": ["lib/os.py"],
    }


def test_links_on_the_way_are_shown(tmp_path: Path) -> None:
    for name in ("real/paper", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "other/paper").symlink_to(tmp_path / "link/../link/paper")
    (tmp_path / "loop").symlink_to("loop")

    surveyed = survey(Path(sys.executable), tmp_path / "other/paper", tmp_path / "loop/paper")

    assert within(tmp_path, surveyed["directories"]) == ["real/paper"]
    assert [link for link in surveyed["links"] if link[0].startswith(str(tmp_path))] == [
        [str(tmp_path / "link"), "real"],
        [str(tmp_path / "other/paper"), str(tmp_path / "link/../link/paper")],
    ]


INSTALL = """
from inside import packages
packages.install({"numpy": sys.argv[2]})
"""
USE = """
import numpy
print(numpy.linalg.inv(numpy.eye(2) * 2).sum(), numpy.random.default_rng(1).random() < 1)
"""


@pytest.mark.parametrize("jail", JAILS)
def test_a_package_with_extensions_works_in_a_jail(jail: str) -> None:
    package = Path(np.__file__).parent

    assert run(Path(sys.executable), SURVEY + INSTALL + jail + USE, package) == "1.0 True"
