"""The pieces of Python whose functions are called."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, structs

from evalwright.components import Snippet

NO_SECRETS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({})


class Source(Struct, frozen=True):
    """A piece of Python that defines functions."""

    text: str
    path: str
    """Its file, as tracebacks show it."""
    line: int = 1
    """Its first line in that file."""
    folder: str = ""
    """The folder of the modules next to it; empty for the folder of `path`."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Placeholders in its strings, each with the value that replaces it at run time."""


def sources_of(
    snippets: Iterable[Snippet], secrets: Mapping[str, tuple[tuple[str, str], ...]] = NO_SECRETS
) -> dict[str, Source]:
    """Return the sources that `Snippet.function` names; `secrets` maps keys of snippets."""
    return {
        snippet.key: Source(
            snippet.text, snippet.path, snippet.line, secrets=secrets.get(snippet.key, ())
        )
        for snippet in snippets
    }


def resolve_folders(sources: Mapping[str, Source], directory: Path | None) -> dict[str, Source]:
    """Return the same sources with their folders."""
    base = (directory or Path()).absolute()
    return {
        key: source if source.folder else structs.replace(source, folder=_find_folder(source, base))
        for key, source in sources.items()
    }


def _find_folder(source: Source, base: Path) -> str:
    beside = (base / source.path).parent
    return str(beside) if not source.path.startswith("<") and beside.is_dir() else ""
