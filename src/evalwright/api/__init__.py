"""The verbs. The only place where adapters meet ports.

init validate lint schema      files: nothing is run
run score                      runs: begin, resume, score again
execute                        one program, judged as a run would
doctor                         what this machine can do
runs find load export delete   what a store remembers
list_… show_…                  the same, and the providers of models, for people
"""

from evalwright.api.assembly import store_name
from evalwright.api.doctor import doctor
from evalwright.api.execute import Given, execute
from evalwright.api.files import checks, init, lint, schema, validate
from evalwright.api.listing import list_models, list_runs, show_run, show_samples
from evalwright.api.options import RunOptions, Watch
from evalwright.api.run import run, score
from evalwright.api.runs import collect_garbage, delete, export, find, load, runs

__all__ = [
    "Given",
    "RunOptions",
    "Watch",
    "checks",
    "collect_garbage",
    "delete",
    "doctor",
    "execute",
    "export",
    "find",
    "init",
    "lint",
    "list_models",
    "list_runs",
    "load",
    "run",
    "runs",
    "schema",
    "score",
    "show_run",
    "show_samples",
    "store_name",
    "validate",
]
