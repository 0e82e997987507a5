"""The script that `process` starts: it loads what it needs by its path, and serves.

Imports nothing of ours by name: it runs in the author's interpreter.
"""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


def _package(name: str, folder: str) -> ModuleType:
    initial = os.path.join(folder, "__init__.py")  # noqa: PTH118 - nothing is imported in vain
    spec = spec_from_file_location(name, initial, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    sys.modules[name] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    return package


if __name__ == "__main__":
    _, channel, marks, objects = sys.argv
    del sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - the same
    _package("evalwright_objects", objects)
    _package("evalwright_snippets", os.path.join(here, "inside"))  # noqa: PTH118 - the same

    import_module("evalwright_snippets.serve").serve(int(channel), int(marks), "evalwright_objects")
