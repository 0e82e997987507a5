"""Check the entities of a project."""

from collections.abc import Sequence

from evalwright.api.documents import count_log_samples
from evalwright.api.files import checks
from evalwright.projects.catalog import check_kind, find_entity_file
from evalwright.projects.kinds import EntityKind
from evalwright.spec.checking import Checking


def check_entities(
    kind: EntityKind, names: Sequence[str], project: str = ".", *, env: Sequence[str] = ()
) -> list[Checking]:
    """Check entities, by key or by file; without names, check all of a kind."""
    if not names:
        return check_kind(kind, project, check_log=count_log_samples, env=env)
    return checks([find_entity_file(kind, name, project, env) for name in names], env=env)
