"""What the processes of snippets may use."""

import sys
from pathlib import Path

from msgspec import Struct

MAX_RESULT_BYTES = 256 * 1024**2
"""Of one call: a scorer of all samples returns those of a whole dataset."""


class Settings(Struct, frozen=True, kw_only=True):
    """What the processes may use. Rlimits that the system refuses are not set."""

    environment: dict[str, str] = {}
    """Variables beside the few that Python needs. Nothing else of the user's is passed on."""
    python: str = sys.executable
    directory: Path | None = None
    """Where they run; None for where the engine does."""
    timeout_s: float = 60.0
    """How long a call may run that is not given a time. Waiting for a model does not count."""
    load_s: float = 60.0
    """How long the top level of a source may run: it may import what takes long to import."""
    max_result_bytes: int = MAX_RESULT_BYTES
    address_space_bytes: int = 16 * 1024**3
    """Libraries of arrays reserve far more than they use."""
    file_bytes: int = 1024**3
    open_files: int = 1024
