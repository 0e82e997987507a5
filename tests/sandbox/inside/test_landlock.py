import errno
import os
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.sandbox.inside import bare

from evalwright.sandbox.inside import landlock, libc

live = pytest.mark.skipif(not landlock.abi(), reason="no Landlock in this kernel")

USERS = ["root", "nobody", "nobody, but a searcher"] if os.geteuid() == 0 else ["oneself"]
# CAP_DAC_READ_SEARCH is for an interpreter in a private home, as it may be here.
LIBRARY = sysconfig.get_path("stdlib")
CONFINE = f"""
import errno, os, sys
from inside import landlock, libc
def tried(action):
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno]
ruleset = landlock.make_ruleset(["room", "alone", {LIBRARY!r}], ["/dev/null"])
if sys.argv[1].startswith("nobody"):
    libc.prctl(8, 1)  # PR_SET_KEEPCAPS
    os.setresuid(65534, 65534, 65534)
    libc.drop_capabilities(keep=2 if "searcher" in sys.argv[1] else None)
landlock.enforce(ruleset)
os.close(ruleset)
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A room that may be read, a file that may, and a cellar that may not; open to all users."""
    (tmp_path / "room" / "shelf").mkdir(parents=True)
    (tmp_path / "cellar").mkdir()
    for path in ("room/book", "room/shelf/book", "cellar/book", "alone"):
        (tmp_path / path).write_text(path)
        (tmp_path / path).chmod(0o777)
    (tmp_path / "room" / "way").symlink_to("../cellar")
    for folder in (".", "room", "room/shelf", "cellar"):
        (tmp_path / folder).chmod(0o777)
    return tmp_path


def shape(house: Path) -> dict[str, tuple[int, int, str]]:
    """Everything there is: mode, links and content by path."""
    return {
        str(path): (
            path.lstat().st_mode,
            path.lstat().st_nlink,
            path.read_text() if path.is_file() else "",
        )
        for path in sorted(house.rglob("*"))
    }


def test_the_version_is_a_number() -> None:
    assert landlock.abi() >= 0


def test_an_unknown_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libc, "MACHINE", "unknown")

    assert landlock.abi() == 0
    with pytest.raises(OSError, match="the kernel has no Landlock") as caught:
        landlock.enforce(landlock.make_ruleset(["/"]))
    assert caught.value.errno == errno.EOPNOTSUPP


@pytest.mark.parametrize(
    ("version", "handled"),
    [
        (1, (0x1FFF,)),
        (2, (0x3FFF,)),
        (3, (0x7FFF,)),
        (4, (0x7FFF, 3)),
        (5, (0xFFFF, 3)),
        (6, (0xFFFF, 3, 3)),
        (7, (0xFFFF, 3, 3)),
        (8, (0xFFFF, 3, 3)),
        (9, (0x1_FFFF, 3, 3)),
        (99, (0x1_FFFF, 3, 3)),
    ],
)
def test_everything_that_a_version_knows_is_handled(version: int, handled: tuple[int, ...]) -> None:
    attributes = landlock._attributes(version)

    assert attributes == b"".join(field.to_bytes(8, sys.byteorder) for field in handled)


@live
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    ("attempt", "answer"),
    [
        ("open('room/book').read()", "room/book"),
        ("open('room/shelf/book').read()", "room/shelf/book"),
        ("open('alone').read()", "alone"),
        ("sorted(os.listdir('room'))", "['book', 'shelf', 'way']"),
        ("os.listdir('room/shelf')", "['book']"),
        ("open('/dev/null', 'w').write('x')", "1"),
        ("open('/dev/null', 'rb').read()", "b''"),
        ("os.chdir('room/shelf') or open('../book').read()", "room/book"),
        ("sorted(os.listdir())", "EACCES"),
        ("os.listdir('/')", "EACCES"),
        ("os.listdir('cellar')", "EACCES"),
        ("os.listdir('room/way')", "EACCES"),
        ("open('cellar/book')", "EACCES"),
        ("open('room/way/book')", "EACCES"),
        ("open('room/../cellar/book')", "EACCES"),
        ("open('/etc/passwd')", "EACCES"),
        ("open('/proc/self/status')", "EACCES"),
        ("open('/proc/self/environ', 'rb')", "EACCES"),
        ("open('/dev/zero', 'rb')", "EACCES"),
        ("os.open('room', os.O_TMPFILE | os.O_RDWR)", "EACCES"),
        ("os.stat('cellar/book').st_size", "11"),
    ],
)
def test_what_may_be_read(house: Path, user: str, attempt: str, answer: str) -> None:
    script = f"{CONFINE}\nprint(tried(lambda: {attempt}))"

    assert bare.run(script, user, cwd=house) == answer


@live
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("folder", ["room", "room/shelf", "cellar", "."])
def test_nothing_can_be_changed(house: Path, user: str, folder: str) -> None:
    before = shape(house)
    script = f"""{CONFINE}
folder = sys.argv[2]
book = folder + "/book" if folder != "." else "alone"
new = folder + "/new"
directory = os.open(folder, os.O_PATH)
attempts = [
    lambda: open(book, "a"),
    lambda: open(book, "w"),
    lambda: open(book, "r+"),
    lambda: open(new, "w"),
    lambda: os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=directory),
    lambda: os.open(book, os.O_RDONLY | os.O_TRUNC),
    lambda: os.truncate(book, 0),
    lambda: os.unlink(book),
    lambda: os.rename(book, new),
    lambda: os.rename(book, "room/shelf/other"),
    lambda: os.rename(book, "cellar/other"),
    lambda: os.replace("alone", new),
    lambda: os.link(book, new),
    lambda: os.symlink(book, new),
    lambda: os.mkdir(new),
    lambda: os.rmdir("room/shelf"),
    lambda: os.mkfifo(new),
    lambda: os.mknod(new),
    lambda: os.execv(book, ["book"]),
    lambda: os.execv("/bin/true", ["true"]),
]
print(*(tried(attempt) for attempt in attempts))
"""

    answers = bare.run(script, user, folder, cwd=house).split()

    assert len(answers) == 20
    # EXDEV: what may not leave its folder is told that it cannot.
    assert set(answers) <= {"EACCES", "EXDEV"}
    assert shape(house) == before


@live
@pytest.mark.parametrize("user", [user for user in USERS if user != "nobody"])
def test_what_may_be_read_can_be_imported(house: Path, user: str) -> None:
    script = f"{CONFINE}\nimport argparse, colorsys\nprint(colorsys.__file__)"

    assert bare.run(script, user, cwd=house).startswith(LIBRARY)


@live
@pytest.mark.skipif(landlock.abi() < 4, reason="Landlock knows no network before version 4")
def test_tcp_is_refused() -> None:
    script = """
import errno, socket
from inside import landlock
landlock.enforce(landlock.make_ruleset(["/"]))
for use in (lambda s: s.bind(("127.0.0.1", 0)), lambda s: s.connect(("127.0.0.1", 1))):
    try:
        use(socket.socket())
    except OSError as error:
        print(errno.errorcode[error.errno])
"""

    assert bare.run(script).split() == ["EACCES", "EACCES"]


@live
@pytest.mark.skipif(landlock.abi() < 6, reason="Landlock knows no scopes before version 6")
def test_signals_and_abstract_sockets_stay_inside() -> None:
    script = """
import errno, os, socket
from inside import landlock
server = socket.socket(socket.AF_UNIX)
server.bind(f"\\0evalwright-{os.getpid()}")
server.listen()
landlock.enforce(landlock.make_ruleset(["/"]))
for use in (
    lambda: os.kill(os.getppid(), 0),
    lambda: socket.socket(socket.AF_UNIX).connect(server.getsockname()),
):
    try:
        use()
    except OSError as error:
        print(errno.errorcode[error.errno])
os.kill(os.getpid(), 0)
"""

    assert bare.run(script).split() == ["EPERM", "EPERM"]


@live
def test_a_ruleset_serves_many_processes(house: Path) -> None:
    script = """
import os
from inside import landlock
ruleset = landlock.make_ruleset(["room"])
for _ in range(3):
    if not os.fork():
        landlock.enforce(ruleset)
        os.close(ruleset)
        try:
            open("cellar/book")
        except PermissionError:
            os.write(1, open("room/book").read().encode() + b" ")
        os._exit(0)
    os.wait()
os.write(1, open("cellar/book").read().encode())
"""

    assert bare.run(script, cwd=house) == "room/book " * 3 + "cellar/book"


@live
@pytest.mark.parametrize(
    "make", ["make_ruleset(['room', 'nowhere'])", "make_ruleset([], ['nowhere'])"]
)
def test_a_path_that_does_not_exist_is_an_error_and_leaves_no_descriptor(
    house: Path, make: str
) -> None:
    script = f"""
import os
from inside import landlock
before = os.listdir("/proc/self/fd")
try:
    landlock.{make}
except FileNotFoundError as error:
    print(error.filename, os.listdir("/proc/self/fd") == before)
open("cellar/book").close()
"""

    assert bare.run(script, cwd=house) == "nowhere True"


@live
def test_no_privileges_come_back() -> None:
    script = """
from inside import landlock
landlock.enforce(landlock.make_ruleset(["/proc"]))
print(*[line.split()[1] for line in open("/proc/self/status") if "NoNewPrivs" in line])
"""

    assert bare.run(script) == "1"
