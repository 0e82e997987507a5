"""The import names that authors know: `from latticeflow.core.dtypes import SolverTrace`.

They are found last. Where the real package is installed it is the one that is imported.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGES = {
    "latticeflow",
    "latticeflow.assessment",
    "latticeflow.core",
    "latticeflow.core.experimental",
}
_DTYPES = {"latticeflow.assessment.dtypes", "latticeflow.core.dtypes"}
_SCORERS = "latticeflow.core.experimental.scorers"


class ScorerBase:
    """What a scorer of an author's own may be derived from."""

    def compute_scores(self, sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
        """The scores of one sample."""
        raise NotImplementedError(f"{type(self).__name__} defines no `compute_scores`")


class Names(MetaPathFinder, Loader):
    """Finds stand-ins for modules that are not installed."""

    def __init__(self, objects: Callable[[], ModuleType]) -> None:
        self._objects = objects

    def install(self) -> None:
        """Be asked, after everybody else."""
        sys.meta_path.append(self)

    def remove(self) -> None:
        """Be asked no more, and leave nothing behind."""
        sys.meta_path.remove(self)
        for name in [*_PACKAGES, *_DTYPES, _SCORERS]:
            module = sys.modules.get(name)
            if module is not None and getattr(module.__spec__, "loader", None) is self:
                del sys.modules[name]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A stand-in, for the names that we know."""
        del path, target
        if name in _PACKAGES:
            return ModuleSpec(name, self, is_package=True)
        if name in _DTYPES or name == _SCORERS:
            return ModuleSpec(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a stand-in."""
        if module.__name__ in _DTYPES:
            objects = self._objects()
            module.__dict__.update({name: getattr(objects, name) for name in objects.AUTHORS})
        elif module.__name__ == _SCORERS:
            module.__dict__["ScorerBase"] = ScorerBase
