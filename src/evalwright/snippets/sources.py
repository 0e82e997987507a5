"""Python sources whose functions are called."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, structs

from evalwright.components import Snippet

NO_SECRETS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({})


class Source(Struct, frozen=True):
    """Python code that defines functions."""

    text: str
    path: str
    """Path of the file, as shown in tracebacks."""
    line: int = 1
    """First line of the code in that file."""
    folder: str = ""
    """Folder of the modules that the code may import; empty for the folder of `path`."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Placeholders in strings, each with the value that replaces it at run time."""


def collect_sources(
    snippets: Iterable[Snippet], secrets: Mapping[str, tuple[tuple[str, str], ...]] = NO_SECRETS
) -> dict[str, Source]:
    """Return the sources of snippets, by key; `secrets` maps snippet keys to placeholders."""
    return {
        snippet.key: Source(
            snippet.text, snippet.path, snippet.line, secrets=secrets.get(snippet.key, ())
        )
        for snippet in snippets
    }


def resolve_folders(sources: Mapping[str, Source], directory: Path | None) -> dict[str, Source]:
    """Return the sources with absolute folders."""
    base = (directory or Path()).absolute()
    return {
        key: source if source.folder else structs.replace(source, folder=_find_folder(source, base))
        for key, source in sources.items()
    }


def _find_folder(source: Source, base: Path) -> str:
    beside = (base / source.path).parent
    return str(beside) if not source.path.startswith("<") and beside.is_dir() else ""
