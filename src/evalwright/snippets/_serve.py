"""Script that `process` starts in the author's Python: load packages by path and serve calls."""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location


def _load_package(name: str, folder: str) -> None:
    initial = os.path.join(folder, "__init__.py")  # noqa: PTH118 - pathlib is not needed here
    spec = spec_from_file_location(name, initial, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    sys.modules[name] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _, channel, marks, objects = sys.argv
    del sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - the same
    _load_package("evalwright_objects", objects)
    _load_package("evalwright_snippets", os.path.join(here, "inside"))  # noqa: PTH118 - the same

    import_module("evalwright_snippets.serve").serve(int(channel), int(marks), "evalwright_objects")
