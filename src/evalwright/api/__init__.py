"""The verbs. The only place where adapters meet ports.

init validate lint schema      files: nothing is run
list_entities show_entity …    what a project has: tasks, datasets, models, evaluations
try_task try_dataset try_model a few samples, rows or one answer, and nothing is kept
run score                      runs: begin, resume, score again
execute                        one program, judged as a run would
doctor                         what this machine can do
runs find load export delete   what a store remembers
list_… show_…                  the same, and the providers of models, for people
"""

from evalwright.api.adding import add_entities, add_provider
from evalwright.api.assembly import store_name
from evalwright.api.doctor import doctor
from evalwright.api.entities import (
    FOLDERS,
    check_entities,
    delete_entity,
    export_entity,
    list_entities,
    refuse_shared,
    show_entity,
)
from evalwright.api.execute import Given, execute
from evalwright.api.files import SCHEMAS, checks, init, lint, schema, validate
from evalwright.api.listing import list_models, list_runs, show_run, show_samples
from evalwright.api.options import RunOptions, Watch
from evalwright.api.probing import try_dataset, try_model
from evalwright.api.run import run, score
from evalwright.api.runs import collect_garbage, delete, export, find, load, runs
from evalwright.api.trying import Wanted, try_task, wanted_of

__all__ = [
    "FOLDERS",
    "SCHEMAS",
    "Given",
    "RunOptions",
    "Wanted",
    "Watch",
    "add_entities",
    "add_provider",
    "check_entities",
    "checks",
    "collect_garbage",
    "delete",
    "delete_entity",
    "doctor",
    "execute",
    "export",
    "export_entity",
    "find",
    "init",
    "lint",
    "list_entities",
    "list_models",
    "list_runs",
    "load",
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
