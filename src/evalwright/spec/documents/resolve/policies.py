"""Read policies from a run file or from files of their own, and check the names they use.

    policies:                       a run file, or a file for `evalwright gate --policy`
      - $ref: policies/release.yaml
      - { key: speed, rules: [...] }

A file may also be one policy, or a list of policies. A `$ref` may lead to any of these.

Policies name metrics, scorers and specifications of tasks. Most metrics tell their names; if a task
has one that does not (an author's own, or one of labels that only the answers have), names are not
checked. A rule about other evaluations is not checked either.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from evalwright.lines import STDIN
from evalwright.metrics.base import FieldMetric
from evalwright.metrics.ratios import CountsMetric
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.evidence import KEY as EVIDENCE
from evalwright.spec.documents.checks.build import build_typed, locate_faults
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.models.policy import (
    PolicyDocument,
    PolicyRule,
    Scope,
)
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.resolve.layout import detect_kind
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Place,
    did_you_mean,
    find_duplicate_keys,
    get_list,
    quote_names,
    type_name,
)
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue

_LIST = "policies"
_STDIN = "/dev/stdin"
_PLACEHOLDER = re.compile(r"<<\s*(config|secrets)\.[A-Za-z0-9_\-]+\s*>>")
_MOST_LISTED = 8
_OF_TRIALS = ("@", "^")
"""Figures of several trials have these in their names, and are made beside the others."""


class WrittenPolicy(Struct, frozen=True):
    """A policy, and where it stands."""

    document: PolicyDocument
    raw: YamlDocument
    path: FieldPath
    """In the data of its file."""

    def problem(self, fault: Fault) -> Issue:
        """A fault of it, at its place."""
        marks = self.raw.marks.below(self.path)
        (found,) = locate_faults([fault], marks, None, below=_below(self.raw, self.path))
        return found


class PolicyFiles(NamedTuple):
    """All that were found, and all that is wrong with them."""

    found: list[WrittenPolicy]
    problems: list[Issue]
    files: list[str]


def read_policies(paths: Iterable[str], *, environment: Mapping[str, str]) -> PolicyFiles:
    """The policies of some files: of policies alone, or run files, of which only these are read.

    `-` is the standard input. Each is read once, so it may be a pipe.
    """
    found: list[WrittenPolicy] = []
    problems: list[Issue] = []
    files: dict[str, None] = {}
    documents: list[YamlDocument] = []
    for path in dict.fromkeys(paths):
        document = read_document(_STDIN if path == STDIN else path, environment=environment)
        files.update(dict.fromkeys(document.files))
        problems += document.problems
        if document.data is None and () in document.unread:
            continue
        documents.append(document)
        written, wrong = parse_policies(document)
        if detect_kind(document.data) == "run":
            wrong += _of_run_file(document, found=bool(written or wrong))
        found += written
        problems += wrong
    found = list({_place(one.raw, one.path): one for one in found}.values())
    return PolicyFiles(found, [*problems, *find_taken_keys(documents)], list(files))


def _of_run_file(document: YamlDocument, *, found: bool) -> list[Issue]:
    """What is wrong with a run file that is to bring policies."""
    faults = list(_unknown_keys(document.data, (), tuple(RunFile.model_fields)))
    if not faults and not found and not document.problems:
        faults = [_no_policies(document.data)]
    return locate_faults(faults, document.marks, document.data)


def parse_policies(document: YamlDocument) -> tuple[list[WrittenPolicy], list[Issue]]:
    """The policies of a file that has been read, and what is wrong with them."""
    faults: list[Fault] = []
    kind = detect_kind(document.data)
    if kind not in {"policy", "run", None}:
        fault = Fault((), "wrong_kind", f"expected policies, got a document of the kind `{kind}`")
        return [], locate_faults([fault], document.marks, document.data)
    data, start = _policies_of(document)
    found: list[WrittenPolicy] = []
    problems: list[Issue] = []
    for path, one in _walk_policies(data, start, faults):
        policy, wrong = build_typed(PolicyDocument, one)
        unfilled = list(_placeholders(one, ()))
        known = {fault.path for fault in unfilled}
        wrong = [*(fault for fault in wrong if fault.path not in known), *unfilled]
        wrong += find_duplicate_keys(get_list(one, "rules"), ("rules",), "rule")
        marks = document.marks.below(path)
        unread = [way[len(path) :] for way in document.unread if way[: len(path)] == path]
        problems += locate_faults(wrong, marks, one, below=_below(document, path), unread=unread)
        if policy is not None:
            found.append(WrittenPolicy(policy, document, path))
    if kind != "run" and not (found or problems or faults or document.problems):
        faults = [_no_policies(document.data)]
    problems += locate_faults(faults, document.marks, document.data, unread=document.unread)
    return found, problems


def find_taken_keys(documents: Iterable[YamlDocument]) -> Iterator[Issue]:
    """The keys that two policies have, whatever else is wrong with either."""
    first: dict[str, Place] = {}
    for document in documents:
        data, start = _policies_of(document)
        for path, one in _walk_policies(data, start, []):
            key, place = one.get("key"), _place(document, path)
            if not isinstance(key, str):
                continue
            known = first.setdefault(key, place)
            if known != place:
                detail = f"the key `{key}` is that of another policy, at {known.file}:{known.line}"
                fault = Fault(("key",), "duplicate_key", detail, "give one of them another key")
                marks = document.marks.below(path)
                yield from locate_faults([fault], marks, None, below=_below(document, path))


def _policies_of(document: YamlDocument) -> tuple[Any, FieldPath]:
    """The value of a file that has the policies, and where it stands; none of another kind."""
    kind = detect_kind(document.data)
    if kind == "run":
        return document.data.get(_LIST), (_LIST,)
    return (document.data if kind in {"policy", None} else []), ()


def _place(document: YamlDocument, path: FieldPath) -> Place:
    return document.marks.place((*path, "key"))


def _below(document: YamlDocument, path: FieldPath) -> FieldPath:
    """What is in a file of its own begins there."""
    elsewhere = document.marks.place((*path, "key")).file != document.file
    return () if elsewhere else path


def _walk_policies(
    value: Any, path: FieldPath, faults: list[Fault]
) -> Iterator[tuple[FieldPath, Any]]:
    """Every policy in a value: one, a list, or a mapping with `policies`."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _walk_policies(one, (*path, number), faults)
    elif isinstance(value, dict) and _LIST in value:
        faults += _unknown_keys(value, path, (_LIST,))
        yield from _walk_policies(value[_LIST], (*path, _LIST), faults)
    elif isinstance(value, dict):
        yield path, value
    elif value is not None or path[-1:] != (_LIST,):
        got = type_name(value)
        faults.append(
            Fault(path, "wrong_type", f"expected a policy, or a list of them, got `{got}`")
        )


def _unknown_keys(
    value: dict[str, Any], path: FieldPath, known: tuple[str, ...]
) -> Iterator[Fault]:
    """What a file has beside its policies, and should not have."""
    for key in value:
        if key not in known:
            detail = f"unknown key `{key}`; expected {quote_names(known)}"
            hint = did_you_mean(str(key), known)
            yield Fault((*path, key), "unknown_key", detail, hint, at_key=True)


def _placeholders(value: Any, path: FieldPath) -> Iterator[Fault]:
    """Texts that stand for a configuration, which policies have none of."""
    if isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
        yield Fault(
            path,
            "no_config",
            f"a policy has no configuration, so `{found.group()}` stands for nothing here",
            "write the value itself, or a variable of the environment: `$NAME`",
        )
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from _placeholders(one, (*path, key))


def _no_policies(data: Any) -> Fault:
    keys = ", ".join(f"`{key}`" for key in data) if isinstance(data, dict) else ""
    got = f"; it has {keys}" if keys else ""
    detail = f"expected policies, there are none{got}"
    return Fault((), "no_policy", detail, "a policy has a `key` and `rules`")


class _KnownMetric(NamedTuple):
    """A figure, as far as documents tell."""

    figure: str
    key: str
    """Of its metric."""
    own_key: bool
    """Whether the author has given the key."""
    scorer: str
    purpose: str


def check_policy_names(
    policies: Iterable[WrittenPolicy], tasks: Sequence[tuple[str, TaskDocument]]
) -> Iterator[Issue]:
    """A warning for each metric and each key of a scope that no task has; tasks by their keys."""
    written = list(policies)
    if not written or not tasks:
        return
    named = _known_metrics(task for _, task in tasks)
    for one in written:
        for number, rule in enumerate(one.document.rules):
            if not (isinstance(rule.scope, Scope) and rule.scope.evaluation_keys):
                faults = [*_check_metric(rule, named or []), *_check_scope(rule, tasks, named)]
                for fault in faults:
                    yield one.problem(fault._replace(path=("rules", number, *fault.path)))


def _check_metric(rule: PolicyRule, named: list[_KnownMetric]) -> Iterator[Fault]:
    metric = rule.definition.metric
    scorers = rule.scope.scorer_keys if isinstance(rule.scope, Scope) else None
    # A check of the samples is meant only where its scorer is named.
    meant = [one for one in named if one.purpose == "score" or one.scorer in (scorers or ())]
    names = [name for one in meant for name in (one.figure, *([one.key] if one.own_key else []))]
    # Two figures of one name are told apart by the keys of their metrics, put before it.
    among = {*names, *(f"{one.key}_{one.figure}" for one in meant)}
    if named and metric not in among and not any(sign in metric for sign in _OF_TRIALS):
        yield _unknown_name(("definition", "metric"), "metric", metric, names)


def _check_scope(
    rule: PolicyRule,
    tasks: Sequence[tuple[str, TaskDocument]],
    named: list[_KnownMetric] | None,
) -> Iterator[Fault]:
    if not isinstance(rule.scope, Scope):
        return
    known = {
        "task_specification_keys": ("task specification", [key for key, _ in tasks]),
        "scorer_keys": ("scorer", [key for _, task in tasks for key in _scorer_keys(task)]),
        "metric_keys": ("metric", [one.key for one in named or []]),
    }
    for field, (what, names) in known.items():
        for number, key in enumerate(getattr(rule.scope, field) or []):
            if names and key not in names and not any(map(is_stand_in, names)):
                yield _unknown_name(("scope", field, number), what, key, names)


def _unknown_name(path: FieldPath, what: str, name: str, names: list[str]) -> Fault:
    there = list(dict.fromkeys(names))
    more = ", …" if len(there) > _MOST_LISTED else ""
    known = f"; there are {quote_names(there[:_MOST_LISTED])}{more}" if there else ""
    detail = f"no task here has a {what} `{name}`{known}"
    rule = f"unknown_{what.replace(' ', '_')}"
    return Fault(path, rule, detail, did_you_mean(name, there), "warning")


def _scorer_keys(task: TaskDocument) -> list[str]:
    definition = task.definition
    if isinstance(definition, BenchmarkTask):
        return [one.key or one.type for one in definition.scorers]
    return [EVIDENCE]


def _known_metrics(tasks: Iterable[TaskDocument]) -> list[_KnownMetric] | None:
    """What figures are called, each with the key of its metric; None where that is not known."""
    known: list[_KnownMetric] = []
    for task in tasks:
        if not isinstance(task.definition, BenchmarkTask):
            return None
        for scorer in task.definition.scorers:
            for one in _metrics_of_scorer(scorer):
                if one is None or is_stand_in(one.figure) or is_stand_in(one.key):
                    return None
                known.append(one)
    return known


def _metrics_of_scorer(scorer: ScorerSpec) -> Iterator[_KnownMetric | None]:
    whose = {"scorer": scorer.key or scorer.type, "purpose": scorer.purpose}
    if scorer.metrics is not None:
        for metric in scorer.metrics:
            figure = _metric_name(metric)
            key, own = str(metric.key or metric.type), metric.own_key
            yield None if figure is None else _KnownMetric(figure, key, own_key=own, **whose)
    elif scorer.purpose == "score":
        several = len(scorer.default_metrics) > 1
        for kind, field in scorer.default_metrics:
            known = kind not in {"frequency", "multiclass-classification"}
            key = f"{kind}_{field}" if several else kind
            yield _KnownMetric(f"{field}_{kind}", key, own_key=False, **whose) if known else None


def _metric_name(metric: Any) -> str | None:
    if isinstance(metric, FieldMetric):
        return metric.value_name
    return metric.name or metric.type if isinstance(metric, CountsMetric) else None
