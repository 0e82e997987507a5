"""List, show, check, add, export and delete the entities of a project."""

from collections.abc import Sequence

from evalwright.api.documents import count_log_samples
from evalwright.api.files import checks
from evalwright.projects.add import add_entities, add_provider
from evalwright.projects.catalog import (
    check_kind,
    delete_entity,
    export_entity,
    find_entity_file,
    list_entities,
    show_entity,
)
from evalwright.projects.kinds import EntityKind
from evalwright.projects.lookup import require_own_file
from evalwright.report.yaml_text import to_yaml
from evalwright.spec.checking import Checking

__all__ = [
    "add_entities",
    "add_provider",
    "check_entities",
    "delete_entity",
    "export_entity",
    "list_entities",
    "require_own_file",
    "show_entity",
    "to_yaml",
]


def check_entities(
    kind: EntityKind, names: Sequence[str], project: str = ".", *, env: Sequence[str] = ()
) -> list[Checking]:
    """Check entities, by key or by file; without names, check all of a kind."""
    if not names:
        return check_kind(kind, project, check_log=count_log_samples, env=env)
    return checks([find_entity_file(kind, name, project, env) for name in names], env=env)
