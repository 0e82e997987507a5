"""Build typed documents from plain data, check them, and locate errors.

    build_instance(TaskDocument, data)   returns the document or None, and all faults
    DocumentPart(raw).problems(faults)   returns the faults as issues with file, line and column

In addition to the checks of the classes, these rules apply between the parts of a document:

    bad_snippet         a `compute_scores_snippet` must define `compute_scores`, and names that a
                        snippet imports from `latticeflow` must exist
    unknown_variable    a template uses an undefined variable: `{{ smaple.question }}`
    unknown_score       a metric reads a score that its scorer does not return

Columns of samples are checked elsewhere, against the rows of the dataset. Names that a snippet
imports with `*` or defines with `exec`, and the scores of `python` scorers, are known only in a
run.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace
from pydantic import BaseModel, TypeAdapter, ValidationError

from evalwright.components import Authored, Snippet
from evalwright.lines import show_path
from evalwright.nearest import nearest
from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.checks.explain import explain_validation_error
from evalwright.spec.documents.checks.imports import check_imports
from evalwright.spec.documents.checks.trials import check_aggregators
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.models.trials import score_names_over_trials
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    did_you_mean,
    format_path,
    get_list,
    locate_fault,
    quote_names,
)
from evalwright.spec.documents.yaml.reader import TODO_MARKER, YamlDocument
from evalwright.templates import Native, Template
from evalwright.types import Issue

T = TypeVar("T")
_adapters: dict[Any, TypeAdapter[Any]] = {}
_ENDING = "_snippet"
_FILE = re.compile(r"[\w./-]+\.py")
SCORER_VARIABLES = (
    *("sample", "solver_output", "messages", "model_output", "model_outputs"),
    *("trace", "input_prompt"),
)
"""Variables of `objects.variables` when there is an answer."""
METRIC_VARIABLES = ("sample", "model")
"""Variables of the templates of a metric."""
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "solver": ("sample",),
    "scorers": SCORER_VARIABLES,
    "actions": (*SCORER_VARIABLES, "scores"),
    "synthesizers": ("source", "sample", "index"),
}
"""Variables that each part of a definition provides to its templates."""
_CONVERSATION = "multi_turn_solver"
"""Solver whose templates can read the conversation so far."""


def build_instance(kind: type[T], data: Any) -> tuple[T | None, list[Fault]]:
    """Return a typed value, or None if the data is invalid, and the faults."""
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    try:
        document = adapter.validate_python(data)
    except ValidationError as error:
        return None, explain_validation_error(error, kind, data)
    faults = [*check_snippets(document), *check_variables(document), *check_scores(document)]
    return document, faults


class DocumentPart(NamedTuple):
    """A document, or a part of a larger document that is itself a document."""

    raw: YamlDocument
    """Data and marks of the document."""
    below: FieldPath = ()
    """Path of the part in its file; empty if it is the whole file."""

    @classmethod
    def inside(cls, document: YamlDocument, path: FieldPath) -> "DocumentPart":
        """Return the part at a path of a document. A part from a `$ref` starts in its own file."""
        marks = document.marks.below(path)
        unread = frozenset(
            hidden[len(path) :] for hidden in document.unread if hidden[: len(path)] == path
        )
        data = get_value(document.data, path)
        raw = replace(document, data=data, marks=marks, problems=[], unread=unread)
        elsewhere = marks.place(("key",)).file != document.file
        return cls(raw, () if elsewhere else path)

    @property
    def data(self) -> dict[str, Any]:
        """The data if it is a mapping, otherwise an empty mapping."""
        return self.raw.data if isinstance(self.raw.data, dict) else {}

    def place(self, path: FieldPath = ()) -> Place:
        """Return the place of a value in the part."""
        return self.raw.marks.place(path)

    @property
    def files(self) -> list[str]:
        """The file of the part, followed by the files that it includes."""
        file = self.place(("key",)).file
        texts = (text for _, text in walk_texts(self.raw.data))
        return list(dict.fromkeys([file, *(getattr(text, "file", "") or file for text in texts)]))

    def field(self, path: FieldPath) -> str:
        """Return the dotted path of a value in the part, relative to its file."""
        return format_path((*self.below, *path))

    def declaration(self, name: str) -> tuple[Place, str]:
        """Return the place and the field where the document declares a parameter."""
        path: FieldPath = ("config_spec",)
        for number, parameter in enumerate(get_list(self.data, "config_spec")):
            if isinstance(parameter, dict) and parameter.get("key") == name:
                path = ("config_spec", number)
        return self.place(path), self.field(path)

    def problems(self, faults: Iterable[Fault], data: Any = None) -> list[Issue]:
        """Locate faults. Their paths refer to `data`, by default the raw data.

        Faults in unreadable values and in values that the author still has to fill in are skipped.
        """
        data = self.raw.data if data is None else data
        problems: dict[Issue, None] = {}
        for fault in faults:
            value = get_value(data, fault.path)
            unread = any(fault.path[: len(path)] == path for path in self.raw.unread)
            if not unread and not (isinstance(value, str) and TODO_MARKER in value):
                place = self._find_place(fault, value)
                problems[locate_fault(fault, place, self.field(fault.path))] = None
        return list(problems)

    def _find_place(self, fault: Fault, value: Any) -> Place:
        marks = self.raw.marks
        place = marks.key_place(fault.path) if fault.at_key else marks.place(fault.path)
        if not fault.line:
            return place
        known = isinstance(value, Authored) and value.file
        file = show_path(value.file) if known else place.file
        if (file, fault.line) == place[:2] and fault.column is None:
            return place
        return Place(file, fault.line, fault.column)


def walk_texts(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield each text in a value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from walk_texts(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from walk_texts(item, (*path, place))


def get_value(data: Any, path: FieldPath) -> Any:
    """Return the value at a path of unchecked data; None if it does not exist."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def check_snippets(document: Any) -> Iterator[Fault]:
    """Yield a fault for every missing function and every failing import of a snippet."""
    for path, snippet in find_parts(document, Snippet):
        yield from check_imports(snippet, path)
        name = str(path[-1]) if path else ""
        if name.endswith(_ENDING) and not is_stand_in(snippet.text):
            yield from _missing_function(snippet, name.removesuffix(_ENDING), path)


def _missing_function(snippet: Snippet, wanted: str, path: FieldPath) -> Iterator[Fault]:
    names = _defined_names(ast.parse(snippet.text).body)
    if wanted in names or "*" in names:
        return
    functions = [name for name, is_function in names.items() if is_function]
    has = f"it defines {quote_names(functions)}" if functions else "it defines no function"
    misspelt = nearest(wanted, functions)
    hint = f"rename `{misspelt}`" if misspelt else ""
    if _FILE.fullmatch(snippet.text.strip()):
        hint = f"to use a file, write `!include {snippet.text.strip()}`"
    detail = f"the snippet does not define `{wanted}`; {has}"
    line = snippet.line if "\n" in snippet.text else 0
    yield Fault(path, "bad_snippet", detail, hint, line=line)


def _defined_names(body: list[ast.stmt]) -> dict[str, bool]:
    """Return the names that a module defines, each with true if it is a function."""
    names: dict[str, bool] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = True
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.setdefault(part.name, False)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names.setdefault(part.id, False)
            elif isinstance(part, ast.alias):
                names.setdefault(part.asname or part.name, False)
    return names


def check_variables(document: Any) -> Iterator[Fault]:
    """Yield a fault for every undefined variable in a task's templates."""
    definition = getattr(document, "definition", None)
    for part, known in _VARIABLES.items():
        component = getattr(definition, part, None)
        is_conversation = part == "solver" and getattr(component, "type", "") == _CONVERSATION
        for path, template in find_parts(component, Template, ("definition", part)):
            names = _conversation_variables(path) if is_conversation else known
            yield from _unknown_variables(template, path, names)
        for path, expression in find_parts(component, Native, ("definition", part)):
            names = METRIC_VARIABLES if "metrics" in path else known
            yield from _unknown_variables(expression, path, names)


def _conversation_variables(path: FieldPath) -> tuple[str, ...]:
    """Return the variables of a conversation's templates; nested builders are loops."""
    loop = ("loop_index",) if path.count("message_builders") > 1 else ()
    return ("sample", "messages", *loop)


def _unknown_variables(
    template: Template | Native, path: FieldPath, known: tuple[str, ...]
) -> Iterator[Fault]:
    for name in sorted({str(variable[0]) for variable in template.variables()} - {*known}):
        if is_stand_in(name):
            continue
        detail = f"unknown variable `{name}`; expected {quote_names(known)}"
        line = 0
        if "\n" in template.source and (first := re.search(rf"\b{name}\b", template.source)):
            line = template.line + template.source.count("\n", 0, first.start())
        yield Fault(path, "unknown_variable", detail, did_you_mean(name, known), line=line)


def check_scores(document: Any) -> Iterator[Fault]:
    """Yield a fault for every metric field that its scorer does not return."""
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
        detail = f"`{scorer.type}` has no score `{name}`; its scores are {quote_names(gives)}"
        yield Fault((*path, key), "unknown_score", detail, did_you_mean(name, list(gives)))


def find_parts(value: Any, kind: type[T], path: FieldPath = ()) -> Iterator[tuple[FieldPath, T]]:
    """Yield all values of a type in a document, with their paths."""
    if isinstance(value, kind):
        yield path, value
        return
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, BaseModel):
        items = ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    elif isinstance(value, dict):
        items = value.items()
    for key, item in items:
        yield from find_parts(item, kind, (*path, key))
