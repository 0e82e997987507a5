"""The extra packages: a finder that knows where each one lies.

The directory that they are installed in is not shown to a candidate, so the usual search, which
lists that directory, would find nothing. Modules inside a package are found the usual way.
"""

# ruff: noqa: PTH112, PTH113
# pathlib would double what the process has loaded, and each of its forks would cost more.

from __future__ import annotations

import os
import sys
from _frozen_importlib_external import spec_from_file_location
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ModuleSpec

NAMES: set[str] = set()
"""What was installed."""

# In the order of the usual search.
_SUFFIXES = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)


def install(locations: dict[str, str]) -> None:
    """Let these top-level names be imported from these places: a directory, or a module's file."""
    NAMES.update(locations)
    sys.meta_path.append(_Finder(dict(locations)))


class _Finder:
    """Comes last, so that a package can not stand in for a module of the standard library."""

    def __init__(self, locations: dict[str, str]) -> None:
        self._locations = locations

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """As the import system asks. Names with a dot are found by their packages."""
        del path, target
        location = self._locations.get(name)
        if location is None:
            return None
        if os.path.isfile(location):
            return spec_from_file_location(name, location, submodule_search_locations=None)
        if not os.path.isdir(location):
            return None
        for suffix in _SUFFIXES:
            file = f"{location}/__init__{suffix}"
            if os.path.isfile(file):
                return spec_from_file_location(name, file, submodule_search_locations=[location])
        namespace = ModuleSpec(name, None, is_package=True)
        namespace.submodule_search_locations = [location]
        return namespace
