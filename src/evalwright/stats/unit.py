"""The check that values lie in [0, 1].

A score outside [0, 1] is a bug upstream. Clipping it would hide the bug inside a mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats


def unit_values(values: Numbers, name: str = "scores") -> Floats:
    """Return the values as an array; refuse NaN and anything outside [0, 1], saying which one."""
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
