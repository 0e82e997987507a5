"""The scene of the attacks: things to steal and to break, and a look at what is left of them.

Everything is as open as it can be (a folder for everybody, a victim of the candidate's own uid):
what stops an attack must be the jail, not an accident of permissions.
"""

import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from tests.living import PATIENCE_S

NOBODY = 65534
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0
# Where something could be left; with the home and the working directory of the tests.
_PLACES = ("/", "/tmp", "/var/tmp", "/dev/shm", str(Path(os.__file__).parent))  # noqa: S108
_LIBC = ctypes.CDLL(None, use_errno=True)

# It holds the secret in its memory and in its environment, and takes the candidate's uid: as
# nobody, so that nobody may send it a signal; dumpable, so that nobody may read it.
_VICTIM = """
import ctypes, os, sys
buffer = ctypes.create_string_buffer(os.environ['SECRET'].encode())
if os.getuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
print(ctypes.addressof(buffer), flush=True)
sys.stdin.read()
"""


class Scene:
    """A context: while it lasts, the baits are out."""

    def __init__(self) -> None:
        token = secrets.token_hex(4)
        self.mark = f"evalwright-mark-{token}"
        self.secret = f"secret-{secrets.token_hex(12)}"
        self._key = 0x0E0A_0000 + int(token[:4], 16)
        self._exit = ExitStack()
        self._victim: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Whatever the sandbox loses hold of comes to us.
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._exit.callback(_LIBC.prctl, _PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        folder = tempfile.TemporaryDirectory(prefix="evalwright-scene-")
        self.folder = Path(self._exit.enter_context(folder))
        self.folder.chmod(0o777)
        os.environ["EVALWRIGHT_BAIT_KEY"] = self.secret
        self._exit.callback(os.environ.pop, "EVALWRIGHT_BAIT_KEY", None)
        self._listen()
        self._exit.callback(self._end_victim)
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _listen(self) -> None:
        def listening(family: int, kind: int, address: tuple[str, int] | str) -> socket.socket:
            bait = self._exit.enter_context(socket.socket(family, kind))
            bait.settimeout(0)
            bait.bind(address)
            if kind == socket.SOCK_STREAM:
                bait.listen()
            return bait

        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        self._tcp = listening(socket.AF_INET, stream, ("127.0.0.1", 0))
        self._udp = listening(socket.AF_INET, datagram, ("127.0.0.1", 0))
        self._path = str(self.folder / "stream.sock")
        self._datagram_path = str(self.folder / "datagram.sock")
        self._abstract = f"\0bait-{self.secret[-8:]}"
        self._baits = [
            self._tcp,
            self._udp,
            listening(socket.AF_UNIX, stream, self._path),
            listening(socket.AF_UNIX, datagram, self._datagram_path),
            listening(socket.AF_UNIX, stream, self._abstract + "s"),
            listening(socket.AF_UNIX, datagram, self._abstract + "d"),
        ]
        self._tcp6_port = 0
        with suppress(OSError):  # a machine may have no IPv6
            self._baits.append(listening(socket.AF_INET6, stream, ("::1", 0)))
            self._tcp6_port = self._baits[-1].getsockname()[1]
        for path in (self._path, self._datagram_path):
            Path(path).chmod(0o777)

    def restore(self) -> None:
        """Put the baits out anew: as they were at the beginning."""
        home = self.folder / "home"
        (home / ".ssh").mkdir(parents=True, exist_ok=True)
        self._canary = self.folder / "canary"
        self._files = {
            self._canary: self.secret,
            home / ".ssh" / "id_ed25519": self.secret,
            self.folder / "bait_module.py": f"LOOT = {self.secret!r}\n",
            self.folder / f"{self.secret}.txt": "",
        }
        for path in self.folder.iterdir():
            if path not in self._files and not path.is_socket() and path != home:
                # A folder may have content: Python writes `__pycache__` next to what it imports.
                is_folder = path.is_dir() and not path.is_symlink()
                shutil.rmtree(path) if is_folder else path.unlink()
        for path, text in self._files.items():
            path.unlink(missing_ok=True)
            path.write_text(text)
            path.chmod(0o666)
        self._as_left = self._look()
        self.heard()
        if self._victim is None or self._state(self._victim.pid) not in {"S", "R"}:
            self._end_victim()
            self._start_victim()

    def _start_victim(self) -> None:
        self._victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SECRET": self.secret},
        )
        assert self._victim.stdout
        self._address = int(self._victim.stdout.readline())
        self._victims_habits = self._habits()

    def _end_victim(self) -> None:
        if self._victim is not None:
            self._victim.kill()
            self._victim.communicate()

    @property
    def names(self) -> str:
        """Assignments, on one line: what an attack is told."""
        assert self._victim is not None
        values = {
            "MARK": self.mark,
            "KEY": self._key,
            "FOLDER": str(self.folder),
            "CANARY": str(self._canary),
            "HOME": str(self.folder / "home"),
            "VICTIM": self._victim.pid,
            "ADDRESS": self._address,
            "ENGINE": os.getpid(),
            "TCP": self._tcp.getsockname()[1],
            "TCP6": self._tcp6_port,
            "UDP": self._udp.getsockname()[1],
            "STREAM": self._path,
            "DATAGRAM": self._datagram_path,
            "ABSTRACT": self._abstract,
        }
        return "; ".join(f"{name} = {value!r}" for name, value in values.items())

    # What has become of it.

    def harm(self) -> list[str]:
        """What of the scene was touched, in words."""
        assert self._victim is not None
        found = []
        if self._look() != self._as_left:
            found.append("a file of the scene has changed")
        if self._state(self._victim.pid) not in {"S", "R"}:
            found.append("the victim was stopped or killed")
        elif self._habits() != self._victims_habits:
            found.append("the victim's limits or priority have changed")
        if self.heard():
            found.append("somebody called")
        return found

    def heard(self) -> int:
        """How many calls and datagrams have come since the last look."""
        total = 0
        for bait in self._baits:
            with suppress(BlockingIOError):
                while True:
                    if bait.type == socket.SOCK_STREAM:
                        bait.accept()[0].close()
                    else:
                        bait.recv(100)
                    total += 1
        return total

    def _look(self) -> dict[str, tuple[object, ...]]:
        seen: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.folder.rglob("*")):
            stat = path.lstat()
            content = path.read_text(errors="replace") if path in self._files else ""
            who = (stat.st_mode, stat.st_uid, stat.st_nlink, stat.st_mtime_ns)
            seen[str(path)] = (*(who if path in self._files else who[:2]), content)
        return seen

    @staticmethod
    def _state(pid: int) -> str:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "gone"
        return text.rpartition(")")[2].split()[0]

    def _habits(self) -> tuple[object, ...]:
        assert self._victim is not None
        pid = self._victim.pid
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
        return limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)

    def litter(self, *, remove: bool = False) -> list[str]:
        """Everything outside the scene that carries its mark."""
        found = []
        for place in (*_PLACES, os.environ.get("HOME", "/root"), os.getcwd(), str(self.folder)):  # noqa: PTH109
            with suppress(OSError):
                marked = [name for name in os.listdir(place) if self.mark in name]  # noqa: PTH208
                found += [f"{place}/{name}" for name in marked]
        for path in found if remove else ():
            Path(path).rmdir() if Path(path).is_dir() else Path(path).unlink()
        found += self._sysv(remove=remove)
        if _LIBC.mq_unlink(f"/{self.mark}".encode()) == 0:
            found.append("a message queue")
        if self.mark in Path("/proc/net/unix").read_text(errors="replace"):
            found.append("a socket")
        return found

    def _sysv(self, *, remove: bool) -> list[str]:
        found = []
        for kind, control in (("shm", "shmctl"), ("sem", "semctl"), ("msg", "msgctl")):
            with suppress(FileNotFoundError):
                for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]:
                    key, number, *_ = map(int, line.split())
                    if key == self._key:
                        found.append(f"a System V {kind}")
                        rest = (0, _IPC_RMID, 0) if kind == "sem" else (_IPC_RMID, None)
                        _ = remove and getattr(_LIBC, control)(number, *rest)
        return found

    def processes(self) -> list[int]:
        """Everything that descends from this process, but the victim.

        Dead ones count where somebody should have waited for them. Those that fell to us do not:
        elsewhere the first process of the machine would have.
        """
        parents: dict[int, int] = {}
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit():
                with suppress(OSError):
                    text = Path(f"/proc/{name}/stat").read_text(errors="replace")
                    state, parent = text.rpartition(")")[2].split()[:2]
                    if state != "Z" or int(parent) != os.getpid():
                        parents[int(name)] = int(parent)
        found: list[int] = []
        generation = {os.getpid()}
        while generation:
            generation = {pid for pid, parent in parents.items() if parent in generation}
            found += generation
        return sorted(pid for pid in found if self._victim is None or pid != self._victim.pid)

    def settles(self, processes: int) -> bool:
        """Whether there are that many of them again, now or soon."""
        until = time.monotonic() + PATIENCE_S
        while len(self.processes()) != processes:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True
