"""The project that `evalwright init` writes: one task of each kind, and an offline model.

The files are in the `starter` folder of the package and are copied unchanged.
"""

from collections.abc import Iterator
from pathlib import Path

STARTER = Path(__file__).parents[2] / "starter"


def starter_files() -> Iterator[tuple[str, bytes]]:
    """Yield the path of each file, relative to the project's folder, and its content."""
    for path in sorted(STARTER.rglob("*")):
        # Installers compile Python files.
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(STARTER).as_posix(), path.read_bytes()
