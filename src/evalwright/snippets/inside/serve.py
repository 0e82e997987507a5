"""Begin to serve: limits, names, and the kind of calls that this process is for."""

import os
import resource
import sys
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from .calls import Calls
from .channel import Channel, watch_engine
from .functions import Sources
from .marks import Marks
from .names import Names
from .talks import Talks


def serve(channel: int, marks: int, objects: str) -> NoReturn:
    """Answer until the engine goes away. `objects` is the package of what functions are given."""
    # What an author imports or pickles as `__main__` is not this script.
    sys.modules["__main__"] = ModuleType("__main__")
    watch_engine()
    spoken = Channel(channel)
    orders = spoken.read()
    for name, value in orders["limits"].items():
        _limit(getattr(resource, name), value)

    def classes() -> ModuleType:
        return import_module(objects)

    Names(classes).install()
    sources = Sources(orders["sources"], classes)
    page = Marks(marks)
    os.close(marks)
    server = (Talks if orders["talks"] else Calls)(spoken, page, sources, orders["max_bytes"])
    spoken.say(ready=True)
    server.serve()


def _limit(kind: int, value: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        value = min(value, ceiling)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError) as refused:  # address space on macOS
        del refused
