"""The verbs. The only place where adapters meet ports.

init validate lint schema      files: nothing is run
list_entities show_entity …    what a project has: tasks, datasets, models, evaluations
try_task try_dataset try_model a few samples, rows or one answer, and nothing is kept
generate                       the rows that a generator makes
run score                      runs: begin, resume, score again
perplexity                     how surprised models are by a text
execute                        one program, judged as a run would
gate                           a run by its policies
judge_check                    a judge, by people and by probes
doctor                         what this machine can do
runs find load export delete   what a store remembers
export_logs import_results     results that move: a run as result logs, and back
list_… show_…                  the same, and the providers of models, for people
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A module that is called like its verb would take the verb's place, once anybody imports it: these
# are imported here, and import little. The other verbs are imported when they are first used.
from evalwright.api.doctor import doctor
from evalwright.api.execute import Given, execute
from evalwright.api.gate import check_policies, gate, read_policies
from evalwright.api.generate import generate
from evalwright.api.perplexity import perplexity
from evalwright.api.run import run, score
from evalwright.api.runs import collect_garbage, delete, export, find, load, runs

if TYPE_CHECKING:
    from evalwright.api.adding import add_entities, add_provider
    from evalwright.api.assembly import store_name
    from evalwright.api.entities import (
        FOLDERS,
        check_entities,
        delete_entity,
        export_entity,
        list_entities,
        refuse_shared,
        show_entity,
    )
    from evalwright.api.files import SCHEMAS, checks, init, lint, lints, schema, validate
    from evalwright.api.judging import Check, judge_check
    from evalwright.api.listing import list_models, list_runs, show_run, show_samples
    from evalwright.api.logs import export_logs, import_results
    from evalwright.api.options import RunOptions, Watch
    from evalwright.api.probing import try_dataset, try_model
    from evalwright.api.trying import Wanted, try_task, wanted_of

_HOMES = {
    "adding": ("add_entities", "add_provider"),
    "assembly": ("store_name",),
    "entities": (
        "FOLDERS",
        "check_entities",
        "delete_entity",
        "export_entity",
        "list_entities",
        "refuse_shared",
        "show_entity",
    ),
    "files": ("SCHEMAS", "checks", "init", "lint", "lints", "schema", "validate"),
    "judging": ("Check", "judge_check"),
    "listing": ("list_models", "list_runs", "show_run", "show_samples"),
    "logs": ("export_logs", "import_results"),
    "options": ("RunOptions", "Watch"),
    "probing": ("try_dataset", "try_model"),
    "trying": ("Wanted", "try_task", "wanted_of"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "FOLDERS",
    "SCHEMAS",
    "Check",
    "Given",
    "RunOptions",
    "Wanted",
    "Watch",
    "add_entities",
    "add_provider",
    "check_entities",
    "check_policies",
    "checks",
    "collect_garbage",
    "delete",
    "delete_entity",
    "doctor",
    "execute",
    "export",
    "export_entity",
    "export_logs",
    "find",
    "gate",
    "generate",
    "import_results",
    "init",
    "judge_check",
    "lint",
    "lints",
    "list_entities",
    "list_models",
    "list_runs",
    "load",
    "perplexity",
    "read_policies",
    "refuse_shared",
    "run",
    "runs",
    "schema",
    "score",
    "show_entity",
    "show_run",
    "show_samples",
    "store_name",
    "try_dataset",
    "try_model",
    "try_task",
    "validate",
    "wanted_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'evalwright.api' has no attribute {name!r}")
    value = getattr(import_module(f"evalwright.api.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
