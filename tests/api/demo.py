"""The project that `evalwright init` writes, for tests of what is done with a project."""

from pathlib import Path

from evalwright.api.files import starter_files


def demo(folder: Path) -> Path:
    """Write it into a folder."""
    for name, content in starter_files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
