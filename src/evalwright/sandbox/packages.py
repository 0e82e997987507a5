"""Extra packages for candidates: where the ones that are installed here lie.

Names are those of `import`, and each package is shown on its own: what it imports itself must be
named too. Nothing is imported to find out.
"""

import re
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from evalwright.errors import UsageError


def locate(names: Sequence[str]) -> dict[str, str]:
    """The directory, or the file, of each package. Those of the standard library need none.

    UsageError, for all names at once that nothing can be shown for.
    """
    locations: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name in names:
        if name in sys.stdlib_module_names:
            continue
        try:
            locations[name] = _locate(name)
        except UsageError as error:
            problems[str(error)] = error.hint
    if problems:
        hints = dict.fromkeys(hint for hint in problems.values() if hint)
        raise UsageError("; ".join(problems), hint="; ".join(hints))
    return locations


def _locate(name: str) -> str:
    spec = _find_spec(name)
    if spec is None:
        raise _explain_missing(name)
    places = list(spec.submodule_search_locations or ())
    if not places and spec.has_location and spec.origin is not None:
        places = [spec.origin]
    if len(places) > 1:
        raise UsageError(
            f"package `{name}` is spread over {len(places)} directories: {', '.join(places)}",
            hint="a candidate can be shown packages that lie in one",
        )
    if not places or not Path(places[0]).exists():
        raise UsageError(
            f"package `{name}` is no file and no directory",
            hint="a candidate can be shown packages that are installed unzipped",
        )
    return str(Path(places[0]).absolute())


def _find_spec(name: str) -> ModuleSpec | None:
    if not name.isidentifier():  # a dot would import what stands before it
        return None
    try:
        return find_spec(name)
    except (ImportError, ValueError):  # no `__spec__`: something that is only in memory
        return None


def _explain_missing(name: str) -> UsageError:
    package, dot, _ = name.partition(".")
    if dot and _find_spec(package) is not None:
        return UsageError(f"`{name}` is a part of a package", hint=f"name all of it: `{package}`")
    imported = _import_names(name)
    if imported:
        listed = " or ".join(f"`{each}`" for each in imported)
        return UsageError(
            f"package `{name}` is imported by another name",
            hint=f"name it as `import` does: {listed}",
        )
    return UsageError(
        f"package `{name}` is not installed",
        hint=f"install it for {sys.executable}, or do not ask for it",
    )


def _import_names(distribution: str) -> list[str]:
    """The names that an installed distribution is imported by."""
    plain = _normalize(distribution)
    return sorted(
        name
        for name, distributions in metadata.packages_distributions().items()
        if name.isidentifier() and plain in map(_normalize, distributions)
    )


def _normalize(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
