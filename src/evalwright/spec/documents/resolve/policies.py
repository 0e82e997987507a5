"""Read policies from a run file or from policy files, and check the names in them.

    policies:                       a run file, or a file for `evalwright gate --policy`
      - $ref: policies/release.yaml
      - { key: speed, rules: [...] }

A file may also contain a single policy or a list of policies. A `$ref` may refer to any of these.

Policies refer to metrics, scorers and task specifications by name. Names are not checked if a task
has a metric with unknown names (a `python` metric, or one whose labels depend on the answers).
Rules about other evaluations are also not checked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalwright.lines import STDIN
from evalwright.metrics.base import FieldMetric
from evalwright.metrics.ratios import CountsMetric
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.evidence import KEY as EVIDENCE
from evalwright.spec.documents.checks.build import DocumentPart, build_instance, find_parts
from evalwright.spec.documents.checks.explain import unknown_key_fault
from evalwright.spec.documents.models.parameters import is_stand_in
from evalwright.spec.documents.models.policy import PolicyDocument, PolicyRule, Scope
from evalwright.spec.documents.models.run_file import RunFile
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.resolve.layout import detect_kind, find_include_root
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
_TRIAL_SIGNS = ("@", "^")
"""Substrings in the names of metrics over several trials."""


class WrittenPolicy(NamedTuple):
    """A policy and its place."""

    document: PolicyDocument
    part: DocumentPart


class PolicyFiles(NamedTuple):
    """The policies of some files, and their problems."""

    policies: list[WrittenPolicy]
    problems: list[Issue]
    files: list[str]


def read_policies(paths: Iterable[str], *, environment: Mapping[str, str]) -> PolicyFiles:
    """Read the policies of some files: policy files or run files.

    `-` is standard input. Each file is read only once, so it may be a pipe.
    """
    documents = [
        read_document(
            _STDIN if path == STDIN else path,
            environment=environment,
            root=find_include_root(Path() if path == STDIN else Path(path)),
            takes_pipes=True,
        )
        for path in dict.fromkeys(paths)
    ]
    problems = [problem for document in documents for problem in document.problems]
    readable = [each for each in documents if each.data is not None or () not in each.unread]
    policies, more = parse_policies(readable)
    for document in readable:
        if detect_kind(document.data) == "run":
            known = tuple(RunFile.model_fields)
            faults = [unknown_key_fault((key,), known) for key in document.data if key not in known]
            is_empty = document.data.get(_LIST) in (None, [])
            if is_empty and not faults and not document.problems:
                faults = [_no_policies(document.data)]
            more += DocumentPart(document).problems(faults)
    files = dict.fromkeys(file for document in documents for file in document.files)
    return PolicyFiles(policies, [*problems, *more], list(files))


def parse_policies(documents: Sequence[YamlDocument]) -> tuple[list[WrittenPolicy], list[Issue]]:
    """Return the policies in documents, and their problems."""
    policies: dict[Place, WrittenPolicy] = {}
    problems: list[Issue] = []
    first: dict[str, Place] = {}
    for document in documents:
        faults: list[Fault] = []
        parts = [DocumentPart.inside(document, path) for path in _find_policies(document, faults)]
        problems += DocumentPart(document).problems(faults)
        for part in parts:
            place = part.place(("key",))
            policy, own_faults = _build_policy(part.data)
            key = part.data.get("key")
            if isinstance(key, str) and (other := first.setdefault(key, place)) != place:
                at = f"{other.file}:{other.line}"
                detail = f"the key `{key}` is already used by another policy, at {at}"
                hint = "give one of them a different key"
                own_faults.append(Fault(("key",), "duplicate_key", detail, hint))
            problems += part.problems(own_faults)
            if policy is not None:
                policies.setdefault(place, WrittenPolicy(policy, part))
    return list(policies.values()), problems


def _build_policy(data: dict[str, Any]) -> tuple[PolicyDocument | None, list[Fault]]:
    policy, faults = build_instance(PolicyDocument, data)
    unfilled = [
        Fault(
            path,
            "no_config",
            f"a policy has no parameters, so `{match.group()}` has no value",
            "write the value itself, or an environment variable: `$NAME`",
        )
        for path, text in find_parts(data, str)
        if (match := _PLACEHOLDER.search(text))
    ]
    known = {fault.path for fault in unfilled}
    faults = [*(fault for fault in faults if fault.path not in known), *unfilled]
    return policy, [*faults, *find_duplicate_keys(get_list(data, "rules"), ("rules",), "rule")]


def _find_policies(document: YamlDocument, faults: list[Fault]) -> list[FieldPath]:
    """Return the paths of all policies in a document; add problems of the document to `faults`."""
    kind = detect_kind(document.data)
    if kind == "run":
        return list(_walk_policies(document.data.get(_LIST), (_LIST,), faults))
    if kind not in {"policy", None}:
        detail = f"expected policies, got a document of the kind `{kind}`"
        faults.append(Fault((), "wrong_kind", detail))
        return []
    paths = list(_walk_policies(document.data, (), faults))
    if not paths and not faults and not document.problems:
        faults.append(_no_policies(document.data))
    return paths


def _walk_policies(value: Any, path: FieldPath, faults: list[Fault]) -> Iterator[FieldPath]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk_policies(item, (*path, number), faults)
    elif isinstance(value, dict) and _LIST in value:
        faults += [unknown_key_fault((*path, key), (_LIST,)) for key in value if key != _LIST]
        yield from _walk_policies(value[_LIST], (*path, _LIST), faults)
    elif isinstance(value, dict):
        yield path
    elif value is not None or path[-1:] != (_LIST,):
        detail = f"expected a policy or a list of policies, got `{type_name(value)}`"
        faults.append(Fault(path, "wrong_type", detail))


def _no_policies(data: Any) -> Fault:
    keys = f"; it has {quote_names(list(data))}" if isinstance(data, dict) and data else ""
    detail = f"expected policies, got none{keys}"
    return Fault((), "no_policy", detail, "a policy has a `key` and `rules`")


class _KnownMetric(NamedTuple):
    """The name of a metric in reports, and its origin."""

    name: str
    key: str
    """Key of the metric."""
    own_key: bool
    """Whether the author set the metric's key."""
    scorer: str
    purpose: str


def check_policy_names(
    policies: Sequence[WrittenPolicy], tasks: Sequence[tuple[str, TaskDocument]]
) -> Iterator[Issue]:
    """Warn about each metric and scope key that no task has; `tasks` are given with their keys."""
    if not policies or not tasks:
        return
    metrics = _list_metrics([task for _, task in tasks])
    for policy in policies:
        for number, rule in enumerate(policy.document.rules):
            if isinstance(rule.scope, Scope) and rule.scope.evaluation_keys:
                continue
            faults = [*_check_metric(rule, metrics), *_check_scope(rule, tasks, metrics)]
            yield from policy.part.problems(
                fault._replace(path=("rules", number, *fault.path)) for fault in faults
            )


def _check_metric(rule: PolicyRule, metrics: list[_KnownMetric]) -> Iterator[Fault]:
    name = rule.definition.metric
    scorers = (isinstance(rule.scope, Scope) and rule.scope.scorer_keys) or ()
    # Metrics of `qa` scorers apply only if the rule names their scorer.
    meant = [each for each in metrics if each.purpose == "score" or each.scorer in scorers]
    names = [label for each in meant for label in (each.name, each.own_key and each.key) if label]
    # If two metrics have the same name, it is prefixed with the key of each.
    known = {*names, *(f"{each.key}_{each.name}" for each in meant)}
    if metrics and name not in known and not any(sign in name for sign in _TRIAL_SIGNS):
        yield _unknown_name(("definition", "metric"), "metric", name, names)


def _check_scope(
    rule: PolicyRule, tasks: Sequence[tuple[str, TaskDocument]], metrics: list[_KnownMetric]
) -> Iterator[Fault]:
    if not isinstance(rule.scope, Scope):
        return
    known = {
        "task_specification_keys": ("task specification", [key for key, _ in tasks]),
        "scorer_keys": ("scorer", [key for _, task in tasks for key in _scorer_keys(task)]),
        "metric_keys": ("metric", [metric.key for metric in metrics]),
    }
    for field, (what, names) in known.items():
        for number, key in enumerate(getattr(rule.scope, field) or []):
            if names and key not in names and not any(map(is_stand_in, names)):
                yield _unknown_name(("scope", field, number), what, key, names)


def _unknown_name(path: FieldPath, what: str, name: str, names: list[str]) -> Fault:
    names = list(dict.fromkeys(names))
    known = f"; expected {quote_names(names, most=_MOST_LISTED)}" if names else ""
    detail = f"no task has a {what} `{name}`{known}"
    rule = f"unknown_{what.replace(' ', '_')}"
    return Fault(path, rule, detail, did_you_mean(name, names), "warning")


def _scorer_keys(task: TaskDocument) -> list[str]:
    if isinstance(task.definition, BenchmarkTask):
        return [scorer.key or scorer.type for scorer in task.definition.scorers]
    return [EVIDENCE]


def _list_metrics(tasks: Iterable[TaskDocument]) -> list[_KnownMetric]:
    known: list[_KnownMetric] = []
    for task in tasks:
        if not isinstance(task.definition, BenchmarkTask):
            return []
        for scorer in task.definition.scorers:
            for metric in _metrics_of_scorer(scorer):
                if metric is None or is_stand_in(metric.name) or is_stand_in(metric.key):
                    return []
                known.append(metric)
    return known


def _metrics_of_scorer(scorer: ScorerSpec) -> Iterator[_KnownMetric | None]:
    whose = {"scorer": scorer.key or scorer.type, "purpose": scorer.purpose}
    if scorer.metrics is not None:
        for metric in scorer.metrics:
            name, key = _metric_name(metric), str(metric.key or metric.type)
            own = metric.own_key
            yield None if name is None else _KnownMetric(name, key, own_key=own, **whose)
    elif scorer.purpose == "score" and not scorer.default_metrics:
        yield None  # the means of scores with unknown names
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
