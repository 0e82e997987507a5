"""How a project's models are named in plans and reports."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from evalwright.generation_parameters import split_parameters, with_parameters
from evalwright.plan.model_names import canonical_name
from evalwright.spec.documents.models.model import ProviderModel
from evalwright.spec.documents.project import Project


def model_name(
    project: Project, key: str, parameters: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Return the name in reports of the model with this key: `provider/model` if declared so.

    The key form is lossy, and the same model must not be paid for under two names. `parameters` are
    those of the task specification; parameters in the key take precedence over them.
    """
    key, own = split_parameters(key)
    parameters = {**parameters, **own}
    declared = project.models.get(key)
    if declared is not None and isinstance(declared.document, ProviderModel):
        key, below = split_parameters(declared.document.name)
        return with_parameters(key, {**below, **parameters})
    name = canonical_name(key) if "/" in key or ":" in key else key
    return with_parameters(name, parameters)
