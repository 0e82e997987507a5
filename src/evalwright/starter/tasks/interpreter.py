"""Collect evidence about the Python version that runs snippets."""

import sys
from typing import Any


def compute_evidence() -> dict[str, Any]:
    """Return one metric, with the reason for its value."""
    version = ".".join(map(str, sys.version_info[:2]))
    recent = sys.version_info >= (3, 11)
    reason = f"snippets run in Python {version}; the oldest supported version is 3.11"
    return {"metrics": {"recent enough": {"value": int(recent), "reason": reason}}}
