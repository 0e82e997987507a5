"""The texts that a request for embeddings brings: one, a list, or either under `input`."""

from typing import Any

from evalwright.errors import ModelError
from evalwright.types import Request


def asked_for(request: Request) -> tuple[list[str], dict[str, Any]]:
    """The texts to embed, and what else the request says."""
    keys: dict[str, Any] = {}
    given = request.input
    if isinstance(given, dict):
        if "model" in given:
            raise ModelError("bad_request", "the input has a key `model`: it is the model's name")
        keys = {name: value for name, value in given.items() if name != "input"}
        given = given.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts) or not texts:
        raise ModelError("bad_request", "expected a text, or a list of texts, to embed")
    return texts, keys
