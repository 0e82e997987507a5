"""Keep secrets out of what is stored with a run.

Replies of servers are redacted where they arrive, outcomes before they are stored. This module
covers the rest: what the user typed, what is quoted from a bad record, values of parameters.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from evalwright.errors import UsageError
from evalwright.secrets import Redactor, Secret, secrets_in


def make_redactor(more: Iterable[Secret] = ()) -> Redactor:
    """A redactor for the secrets of this process, and those that a project brings."""
    return Redactor([*secrets_in(os.environ), *(secret.reveal() for secret in more)])


def refuse_secrets(
    names: Iterable[str], parameters: Mapping[str, Any], more: Iterable[Secret] = ()
) -> None:
    """Refuse a path, a model or a parameter that holds a secret: it would be stored."""
    redactor = make_redactor(more)
    encoded = msgspec.json.encode(parameters, enc_hook=repr).decode()
    if any(redactor.clean(text) != text for text in (*names, encoded)):
        raise UsageError(
            "a path, a model or a parameter holds a secret of the environment, "
            "and would be kept with the run",
            hint="a key belongs into its variable: it travels in a header",
        )
