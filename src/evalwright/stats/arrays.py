"""numpy, loaded when it is first used, and arrays of numbers in [0, 1].

numpy takes a tenth of a second to import, and most commands only name what would compute with it.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.integer[Any]]
    Booleans = NDArray[np.bool_]
    Generator = np.random.Generator
    Numbers = Sequence[float] | Floats
else:
    Floats = Integers = Booleans = Generator = Numbers = Any

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            return self.__dict__.setdefault(name, getattr(import_module("numpy"), name))

    np = _Numpy()

__all__ = ["Booleans", "Floats", "Generator", "Integers", "Numbers", "chunks", "np", "unit_values"]

_CHUNK = 1 << 17
"""Numbers drawn at once: a megabyte of indices and one of values stay in the cache."""


def unit_values(values: Numbers, name: str = "scores") -> Floats:
    """Return the values as an array; ValueError for NaN and anything outside [0, 1].

    A score outside [0, 1] is a bug upstream. Clipping it would hide the bug inside a mean.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected `{name}` as a flat list, got {array.ndim} dimensions")
    outside = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if outside.size:
        first = int(outside[0])
        raise ValueError(
            f"expected a number in [0, 1], got `{array[first]}` - at `{name}[{first}]`"
        )
    return array


def chunks(rows: int, width: int) -> Iterator[int]:
    """Split rows of so many numbers into chunks; yield how many rows each has."""
    step = max(1, _CHUNK // width)
    for start in range(0, rows, step):
        yield min(step, rows - start)
