"""Check what the parts of a typed document need from each other.

    bad_snippet         a `compute_scores_snippet` that does not define `compute_scores`
    unknown_variable    a variable that nothing provides: `{{ smaple.question }}`
    unknown_score       a metric of a score that its scorer does not give

Which columns a sample has is checked against the dataset's rows, elsewhere. What a snippet imports
with `*` or defines with `exec`, and which scores an author's own scorer gives, only a run shows.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from evalwright.components import Snippet
from evalwright.nearest import nearest
from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.checks.trials import check_aggregators
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.models.trials import score_names_over_trials
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, quote_names
from evalwright.templates import Native, Template

_ENDING = "_snippet"
_FILE = re.compile(r"[\w./-]+\.py")
SCORER_VARIABLES = (
    *("sample", "solver_output", "messages", "model_output", "model_outputs"),
    *("trace", "input_prompt"),
)
"""What `objects.variables` gives, once there is an answer."""
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "solver": ("sample",),
    "scorers": SCORER_VARIABLES,
    "actions": (*SCORER_VARIABLES, "scores"),
    "synthesizers": ("sample", "index"),
}
"""What each part of a definition gives to its templates."""
_CONVERSATION = "multi_turn_solver"
"""The solver whose templates see the conversation so far."""
_BUILDERS = "message_builders"
_Part = TypeVar("_Part")


def check_snippets(document: Any) -> Iterator[Fault]:
    """A fault for every snippet of a typed document that lacks its function."""
    for path, snippet in find_parts(document, Snippet):
        name = str(path[-1]) if path else ""
        if name.endswith(_ENDING) and not is_stand_in(snippet.text):
            yield from _missing_function(snippet, name.removesuffix(_ENDING), path)


def _missing_function(snippet: Snippet, wanted: str, path: FieldPath) -> Iterator[Fault]:
    names = _defined_names(ast.parse(snippet.text).body)
    if wanted in names or "*" in names:
        return
    functions = [name for name, is_function in names.items() if is_function]
    has = f"it defines {quote_names(functions)}" if functions else "it defines no function"
    close = nearest(wanted, functions)
    hint = f"rename `{close}`" if close else ""
    if _FILE.fullmatch(snippet.text.strip()):
        hint = f"to use a file, write `!include {snippet.text.strip()}`"
    detail = f"the snippet does not define `{wanted}`; {has}"
    line = snippet.line if "\n" in snippet.text else 0
    yield Fault(path, "bad_snippet", detail, hint, line=line)


def _defined_names(body: list[ast.stmt]) -> dict[str, bool]:
    """The names that a module has when it was run; true for those of functions."""
    found: dict[str, bool] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = True
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(part.name, False)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                found.setdefault(part.id, False)
            elif isinstance(part, ast.alias):
                found.setdefault(part.asname or part.name, False)
    return found


def check_variables(document: Any) -> Iterator[Fault]:
    """A fault for every variable of a task's templates that nothing gives."""
    definition = getattr(document, "definition", None)
    for part, known in _VARIABLES.items():
        inside = getattr(definition, part, None)
        speaks = part == "solver" and getattr(inside, "type", "") == _CONVERSATION
        top = ("definition", part)
        for path, template in find_parts(inside, Template, top):
            yield from _unknown_variables(
                template, path, _conversation_variables(path) if speaks else known
            )
        for path, expression in find_parts(inside, Native, top):
            yield from _unknown_variables(expression, path, known)


def _conversation_variables(path: FieldPath) -> tuple[str, ...]:
    """What a template of a conversation sees: of a loop, builders in builders, its count too."""
    loop = ("loop_index",) if path.count(_BUILDERS) > 1 else ()
    return ("sample", "messages", *loop)


def _unknown_variables(
    template: Template | Native, path: FieldPath, known: tuple[str, ...]
) -> Iterator[Fault]:
    for name in sorted({needed[0] for needed in template.variables()} - {*known}):
        if is_stand_in(name):
            continue
        there = f"there {'are' if len(known) > 1 else 'is'} {quote_names(list(known))}"
        detail = f"no variable is called `{name}` here; {there}"
        line = _line_of_name(template, str(name)) if "\n" in template.source else 0
        yield Fault(path, "unknown_variable", detail, did_you_mean(str(name), known), line=line)


def _line_of_name(template: Template | Native, name: str) -> int:
    """The line of a template that first says a name."""
    found = re.search(rf"\b{re.escape(name)}\b", template.source)
    return template.line + template.source.count("\n", 0, found.start() if found else 0)


def check_scores(document: Any) -> Iterator[Fault]:
    """A fault for every field of a metric that its scorer does not give."""
    definition = getattr(document, "definition", None)
    scorers = getattr(definition, "scorers", None)
    trials = getattr(definition, "trials", None)
    for path, scorer in find_parts(scorers, ScorerSpec, ("definition", "scorers")):
        if scorer.score_names is not None:
            gives = score_names_over_trials(trials, scorer.score_names, scorer.text_scores)
            for number, metric in enumerate(scorer.metrics or ()):
                yield from _unknown_scores(metric, scorer, gives, (*path, "metrics", number))
    if scorers is not None:
        yield from check_aggregators(trials, scorers)


def _unknown_scores(
    metric: Any, scorer: ScorerSpec, gives: Sequence[str], path: FieldPath
) -> Iterator[Fault]:
    for name in sorted(metric.fields() or ()):
        if name in gives or is_stand_in(name):
            continue
        key = next((key for key in type(metric).model_fields if getattr(metric, key) == name), "")
        detail = f"`{scorer.type}` gives no score `{name}`; it gives {quote_names(list(gives))}"
        yield Fault((*path, key), "unknown_score", detail, did_you_mean(name, list(gives)))


def find_parts(
    thing: Any, kind: type[_Part], path: FieldPath = ()
) -> Iterator[tuple[FieldPath, _Part]]:
    """Everything of a kind in a document, and where it stands."""
    if isinstance(thing, kind):
        yield path, thing
    elif isinstance(thing, BaseModel):
        for name in type(thing).model_fields:
            yield from find_parts(getattr(thing, name), kind, (*path, name))
    elif isinstance(thing, list | tuple):
        for number, one in enumerate(thing):
            yield from find_parts(one, kind, (*path, number))
    elif isinstance(thing, dict):
        for name, one in thing.items():
            yield from find_parts(one, kind, (*path, name))
