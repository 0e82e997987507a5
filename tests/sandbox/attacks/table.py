"""What an attack is, and the few forms that nearly all of them take.

    refused     tries something and says `refused` when the system will not have it
    looted      prints what it has found; the secret of the scene must not be among it
    littered    leaves something behind that carries the mark of the scene
    forged      does not know the answer, and wants to be told right all the same
    ends        does something rude to its own process; what that comes to is stated

Every source begins with the names of the scene (`scene.Scene.names`): where the canary is, who the
victim is, which ports listen. An attack tells by itself whether it has worked. It is worth nothing
if it would fail anywhere, so it also says what becomes of it where nothing holds it: `unheld`.
"""

from textwrap import dedent, indent
from typing import Any, Literal

from msgspec import Struct

from evalwright.types import ExecutionOutcome

Unheld = Literal[
    "pass",  # with these outcomes, judged by `Unsafe`
    "assertion_fail",
    "error",
    "timeout",
    "looted",  # the secret is in its output
    "littered",  # its mark is found afterwards
    "believed by status",  # by one who trusts an exit status of 0
    "believed by output",  # by one who trusts the last line of stdout
]
NAMESPACES = "namespaces+seccomp"
LANDLOCK = "landlock+seccomp"
BOTH = (NAMESPACES, LANDLOCK)

EITHER: tuple[ExecutionOutcome, ...] = ("assertion_fail", "error")
LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __hash__(self): return 0
"""
REFUSED = ("attempt() == 'refused'",)
LOOP_S = 0.1
"""Long enough to get into the loop on a quiet machine; on a busy one it ends earlier, as late."""


RAW = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def reach(x86_64, aarch64, *args):
    number = {'x86_64': x86_64, 'aarch64': aarch64}[os.uname().machine]
    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in args]
    wide += [ctypes.c_long(0)] * (6 - len(wide))
    result, error = libc.syscall(ctypes.c_long(number), *wide), ctypes.get_errno()
    if result == -1 and error in (1, 13, 38):  # EPERM, EACCES, ENOSYS: nobody looked at it
        raise OSError(error, os.strerror(error))
    return -error if result == -1 else result
def raw(*args):
    result = reach(*args)
    if result < 0: raise OSError(-result, os.strerror(-result))
    return result
"""
"""Syscalls by number, on x86_64 and aarch64.

`raw` must succeed. `reach` is for what would do harm: it is given arguments that make no sense, and
has worked when the kernel says so, instead of refusing to look.
"""


class Attack(Struct, frozen=True, kw_only=True):
    """A program that means harm, and what may become of it."""

    name: str
    source: str
    targets: tuple[str, ...]
    outcomes: frozenset[ExecutionOutcome]
    """In a jail: one of these."""
    detail: str = ""
    """What the detail must say, somewhere."""
    timeout_s: float = 20.0
    bare: bool = False
    """Whether the source goes without the names of the scene before it."""
    tiers: tuple[str, ...] = BOTH
    machine: str = ""
    """The processor that it is written for; empty for any."""
    unheld: Unheld | None = None
    """What becomes of it where nothing holds it."""
    because: str = ""
    """Why it is not run where nothing holds it."""
    root: bool = False
    """Whether only root can do it where nothing holds it."""


def held(
    name: str,
    source: str,
    targets: tuple[str, ...],
    outcomes: ExecutionOutcome | tuple[ExecutionOutcome, ...],
    **more: Any,
) -> Attack:
    """An attack that must come to one of these outcomes."""
    some = (outcomes,) if isinstance(outcomes, str) else outcomes
    fields: dict[str, Any] = {
        "name": name,
        "source": dedent(source).lstrip("\n"),
        "targets": targets,
        "outcomes": frozenset(some),
        **more,
    }
    return Attack(**fields)


def refused(name: str, body: str, *, head: str = "", **more: Any) -> Attack:
    """Run `body`: it raises OSError when it is refused, and has worked when it does not."""
    source = (
        f"import os\n{dedent(head)}\ndef attempt():\n    try:\n{indent(dedent(body), ' ' * 8)}\n"
        "    except OSError as error:\n"
        "        return 'refused'\n"
        "    return 'it worked'\n"
    )
    more = {"unheld": None if "because" in more else "assertion_fail", **more}
    return held(name, source, REFUSED, "pass", **more)


def looted(name: str, body: str, **more: Any) -> Attack:
    """Run `body`, which puts what it finds into `loot`, as far as it gets."""
    source = (
        "import os\nloot = []\ndef attempt():\n    global loot\n"
        f"    try:\n{indent(dedent(body), ' ' * 8)}\n"
        "    except (OSError, ImportError):\n"
        "        pass\n"
        "    print(*loot, flush=True)\n"
        "    return 'refused'\n"
    )
    return held(name, source, REFUSED, "pass", **{"unheld": "looted", **more})


def littered(name: str, body: str, **more: Any) -> Attack:
    """Run `body`, which leaves the mark somewhere, if it may."""
    source = (
        f"import os\ndef attempt():\n    try:\n{indent(dedent(body), ' ' * 8)}\n"
        "    except OSError:\n"
        "        pass\n"
        "    return 'refused'\n"
    )
    more = {"unheld": None if "because" in more else "littered", **more}
    return held(name, source, REFUSED, "pass", **more)


def forged(
    name: str,
    source: str,
    *targets: str,
    outcomes: ExecutionOutcome | tuple[ExecutionOutcome, ...] = "assertion_fail",
    **more: Any,
) -> Attack:
    """A candidate that does not know the answer."""
    more = {"unheld": None if "because" in more else "pass", **more}
    return held(name, source, targets or ("answer() == 'plum'",), outcomes, **more)


def hangs(name: str, source: str, *targets: str, **more: Any) -> Attack:
    """One that never comes to an end by itself."""
    more = {"timeout_s": LOOP_S, "unheld": None if "because" in more else "timeout", **more}
    return held(name, source, targets or ("True",), "timeout", **more)


def ends(
    name: str,
    source: str,
    outcomes: ExecutionOutcome | tuple[ExecutionOutcome, ...] = "error",
    *targets: str,
    **more: Any,
) -> Attack:
    """One that is rude to its own process."""
    some = outcomes if isinstance(outcomes, str) else outcomes[0]
    more = {"unheld": None if "because" in more else some, **more}
    return held(name, source, targets or ("True",), outcomes, **more)
