"""Some of the attacks, by a user who has no rights: `python -m tests.sandbox.attacks.unprivileged`.

Root becomes such a user first. What it keeps is the right to read: the interpreter that runs the
tests may lie in root's home. No candidate has it.
"""

import asyncio
import ctypes
import os
import sys
from pathlib import Path

from tests.sandbox.attacks import ATTACKS
from tests.sandbox.attacks.scene import Scene
from tests.sandbox.attacks.trial import HONEST, try_attacks

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS, Tier

SAMPLE = [
    "time: a loop that ignores every signal",
    "time: a sleep",
    "memory: mappings that nothing is reserved for",
    "memory: its own limits, raised",
    "floods: stdout",
    "reading: a file of the user",
    "reading: a key under home",
    "reading: the names in a folder",
    "reading: the environment of everybody",
    "reading: the memory of another, by its file",
    "reading: the memory of another, by a syscall",
    "reading: the memory of another, as its debugger",
    "reading: any file by its handle",
    "writing: over a file",
    "writing: a file, deleted",
    "writing: rights, changed",
    "writing: a file in /tmp",
    "writing: inodes, used up",
    "processes: fork",
    "processes: a bomb of threads",
    "processes: the victim, killed",
    "processes: the victim, killed by input and output",
    "processes: everybody, killed",
    "processes: the parent, killed",
    "processes: the victim's limits",
    "processes: the victim's priority",
    "network: TCP",
    "network: an abstract socket",
    "network: a datagram from one of a pair",
    "kernel: a user namespace",
    "kernel: capabilities, held",
    "kernel: io_uring",
    "lies: equal to everything",
    "looks: at the memory itself",
    "looks: into the memory of the evaluator",
    "prints: a verdict on every descriptor, with the nonce that it finds",
    "robustness: a death: a segmentation fault",
]
USER = 54321
UNAVAILABLE = 3
_KEEPCAPS, _AMBIENT, _RAISE, _DAC_READ_SEARCH = 8, 47, 2, 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x2008_0522


def main(tier: Tier) -> int:
    """Try them all, and say what is wrong."""
    if os.getuid() == 0:
        _drop()
        os.execv(sys.executable, [sys.executable, "-m", __spec__.name, tier])  # noqa: S606 - no shell
    with Scene() as scene:
        try:
            sandbox = Jailed(tier=tier, workers=1, verdicts="split", python=_readable_python())
        except NoTier as error:
            print(error)  # noqa: T201 - it is a script
            return UNAVAILABLE
        attacks = {"honest": HONEST, **{name: ATTACKS[name] for name in SAMPLE}}
        wrong = try_attacks(scene, sandbox, attacks)
        asyncio.run(sandbox.close())
    for name, what in wrong.items():
        print(name, *what, sep="\n    ")  # noqa: T201 - it is a script
    return 1 if wrong else 0


def _drop() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    libc.prctl(_KEEPCAPS, 1, 0, 0, 0)
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    kept = 1 << _DAC_READ_SEARCH
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept)
    libc.syscall(_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref(sets))
    libc.prctl(_AMBIENT, _RAISE, _DAC_READ_SEARCH, 0, 0)


def _readable_python() -> str | None:
    """An interpreter that everybody can read, of the same version, if ours is not."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (Path(sys.executable).resolve(), Path("/usr/bin", version)):
        if path.exists() and all(one.stat().st_mode & 0o005 == 0o005 for one in path.parents):
            return str(path)
    return None


if __name__ == "__main__":
    sys.exit(main(TIERS[sys.argv[1:] == [TIERS[1]]]))
