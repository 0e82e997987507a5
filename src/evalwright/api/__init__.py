"""The verbs. The only place where adapters meet ports.

init validate lint schema      files: nothing is run
list_entities show_entity …    what a project has: tasks, datasets, models, evaluations
try_task try_dataset try_model a few samples, rows or one answer, and nothing is kept
generate                       the rows that a generator makes
check_dataset                  what a dataset contains, and what may be wrong with it
set_secret list_secrets …      the secrets that are stored on this machine
run score                      runs: begin, resume, score again
test check_report …            a run as a test, and what it must meet
perplexity                     how surprised models are by a text
execute execute_file           one program, judged as a run would
score_answer                   one answer to a record
compare                        runs, models and variants, sample by sample
gate bless                     a run by its policies and a baseline; what the baseline is
judge_check                    a judge, by people and by probes
doctor                         what this machine can do
runs find load export delete   what a store remembers
arun ascore agate aload …      run score gate load runs validate, for an event loop
export_logs import_results     results that move: a run as result logs, and back
list_… show_…                  the same, component types and providers of models, for people
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalwright.api.async_verbs import (
        acompare,
        agate,
        aload,
        arun,
        aruns,
        ascore,
        avalidate,
    )
    from evalwright.api.comparisons import compare
    from evalwright.api.dataset_checks import check_dataset, parse_checks
    from evalwright.api.entities import (
        TaskSelection,
        check_entities,
        dataset_preview_lines,
        generate,
        locate_task,
        try_dataset,
        try_task,
    )
    from evalwright.api.files import SCHEMAS, checks, init, lint, lints, schema, validate
    from evalwright.api.gates import bless, check_policies, gate, read_policies
    from evalwright.api.listing import (
        list_components,
        list_models,
        runs,
        show_run,
        show_samples,
    )
    from evalwright.api.machine import doctor
    from evalwright.api.programs import ProgramRequest, execute, execute_file, score_answer
    from evalwright.api.run_tasks import run, score
    from evalwright.api.stored_runs import (
        collect_garbage,
        delete,
        export,
        find,
        find_changed_files,
        load,
    )
    from evalwright.api.task_files import find_run_file, has_tasks, list_tasks
    from evalwright.api.testing import check_report, test
    from evalwright.judge_check.check import judge_check
    from evalwright.judge_check.options import JudgeCheckOptions
    from evalwright.judge_check.render import render_judge_check
    from evalwright.perplexity.measure import perplexity
    from evalwright.plan.options import RunOptions
    from evalwright.projects.add import add_entities, add_provider
    from evalwright.projects.catalog import delete_entity, export_entity, list_entities, show_entity
    from evalwright.projects.lookup import require_own_file
    from evalwright.projects.try_model import try_model
    from evalwright.report.yaml_text import to_yaml
    from evalwright.result_logs.export_run import export_logs
    from evalwright.result_logs.import_run import import_results
    from evalwright.secret_store import delete_secret, list_secrets, set_secret
    from evalwright.session.progress import Progress
    from evalwright.session.stores import store_name

_HOMES = """
    api.async_verbs         acompare agate aload arun aruns ascore avalidate
    api.comparisons         compare
    api.dataset_checks      check_dataset parse_checks
    api.entities            check_entities dataset_preview_lines generate try_dataset
    api.entities            TaskSelection locate_task try_task
    api.files               SCHEMAS checks init lint lints schema validate
    api.gates               bless check_policies gate read_policies
    api.listing             list_components list_models runs show_run show_samples
    api.machine             doctor
    api.programs            ProgramRequest execute execute_file score_answer
    api.run_tasks           run score
    api.stored_runs         collect_garbage delete export find find_changed_files load
    api.task_files          find_run_file has_tasks list_tasks
    api.testing             check_report test
    judge_check.check       judge_check
    judge_check.options     JudgeCheckOptions
    judge_check.render      render_judge_check
    perplexity.measure      perplexity
    plan.options            RunOptions
    projects.add            add_entities add_provider
    projects.catalog        delete_entity export_entity list_entities show_entity
    projects.lookup         require_own_file
    projects.try_model      try_model
    report.yaml_text        to_yaml
    result_logs.export_run  export_logs
    result_logs.import_run  import_results
    secret_store            delete_secret list_secrets set_secret
    session.progress        Progress
    session.stores          store_name
"""
"""Modules, each with the names that it provides: a name is imported when it is first used."""
_HOME_OF = {
    name: f"evalwright.{home}"
    for home, *names in map(str.split, _HOMES.strip().splitlines())
    for name in names
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'evalwright.api' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
