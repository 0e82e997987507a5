"""Which keys a project has, and what is said of one that it has not.

Models need not be documents: `provider/model`, `provider:model` and `provider$model` name one of a
provider that is known here, and `latticeflow$placeholder` none at all. Whether that provider has
such a model, only its server knows.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from evalwright.registry import BUILT_IN, names
from evalwright.spec.documents.entities import Entity
from evalwright.spec.documents.faults import Fault, did_you_mean, listed
from evalwright.spec.documents.kinds import Kind
from evalwright.spec.documents.model import BUILT_IN_ADAPTERS
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.values import is_stand_in

PLACEHOLDER = "latticeflow$placeholder"
"""The model that is never asked."""

_NOT_LISTED = ("local",)
_MOST_LISTED = 12


class References(NamedTuple):
    """The entities of a project, by kind and key."""

    entities: Mapping[Kind, Mapping[str, Entity]]
    alone: bool = False
    """One document was named, not a project: what it refers to may be elsewhere."""
    unread: frozenset[Kind] = frozenset()
    """The kinds of which there are files that cannot be read: a key may be in one of them."""

    def missing(self, kind: Kind, key: str, path: Path) -> Fault | None:
        """What is wrong with a reference; None if it leads somewhere, or may do so later."""
        known = list(self.entities[kind])
        if key in known or is_stand_in(key) or (kind in self.unread and not self.alone):
            return None
        if kind == "model":
            return self._missing_model(key, path)
        if kind == "adapter" and key in BUILT_IN_ADAPTERS:
            return None
        return self._unknown(kind, key, path, known)

    def _missing_model(self, key: str, path: Path) -> Fault | None:
        for separator in ("/", ":", "$"):
            provider, found, model = key.partition(separator)
            if not found:
                continue
            if key == PLACEHOLDER or _is_provider(provider):
                return None if model else self._unknown("model", key, path, [])
            if separator != "$":
                known = names("models")
                detail = f"`{provider}` is no provider known here; there are {listed(known)}"
                return Fault(path, "unknown_model", detail, did_you_mean(provider, known))
        return self._unknown("model", key, path, list(self.entities["model"]))

    def _unknown(self, kind: Kind, key: str, path: Path, known: list[str]) -> Fault:
        has = f"it has {_some(known)}" if known else "it has none"
        others = len(known) - (kind == "evaluation")  # one of them is what refers to it
        level: Literal["error", "warning"] = "warning" if self.alone and others < 1 else "error"
        detail = f"the project has no {kind} `{key}`; {has}"
        return Fault(path, f"unknown_{kind}", detail, did_you_mean(key, known), level)


def _is_provider(name: str) -> bool:
    # Plugins are looked for last: that reads the metadata of every installed package.
    return name in BUILT_IN["models"] or name in _NOT_LISTED or name in names("models")


def _some(known: list[str]) -> str:
    rest = len(known) - _MOST_LISTED
    return listed(known[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")
