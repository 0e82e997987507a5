"""What of a task does not go with the number of trials that it is run with.

That number is the specification's, the run's or the task's, so it is looked at when all are known:

    pass@k of more trials than there are      a warning: nothing shows so many
    a metric of a text                        a warning: over trials there is nothing of a text
    a rule that wants a truth value or text   an error: it would fail for every sample
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.problems import Path, Problem
from evalwright.spec.documents.task import BenchmarkTask
from evalwright.spec.documents.trials import PASSING, names_after

if TYPE_CHECKING:
    from evalwright.spec.documents.resolved import ResolvedSpec

_DEFINITION: Path = ("definition",)
_A_SCORE = re.compile(r"\{\{-?\s*scores\.(\w+)\.(\w+)\s*-?\}\}")
_TRUTHS = {"is_true", "is_false"}


def tried_problems(specs: "Iterable[ResolvedSpec]") -> list[Problem]:
    """Of each specification, at the places of its task; what waits for a value is not judged."""
    found: dict[Problem, None] = {}
    for spec in specs:
        definition = spec.task.definition
        if spec.recording is None and not spec.waits and isinstance(definition, BenchmarkTask):
            faults = tried_faults(definition, spec.num_trials, key=spec.key)
            found.update(dict.fromkeys(spec.written.problems(faults)))
    return list(found)


def tried_faults(definition: BenchmarkTask, trials: int, *, key: str) -> Iterator[Fault]:
    """What is wrong with so many trials; `key` is the specification that has them."""
    told = definition.trials
    other = told is not None and told.num_trials != trials
    yield from _extrapolated(definition, trials, f" of `{key}`" if other else "")
    if trials > 1:
        yield from _texts_measured(definition, trials)
        yield from _rules(definition, trials)


def _extrapolated(definition: BenchmarkTask, trials: int, of: str) -> Iterator[Fault]:
    for number, one in enumerate(definition.trials.score_aggregators if definition.trials else ()):
        k = one.aggregator.k
        if one.aggregator.function not in PASSING or k is None or k <= trials:
            continue
        path = (*_DEFINITION, "trials", "score_aggregators", number, "aggregator", "k")
        if trials == 1:
            detail = f"k = {k}, and one trial{of}: `{one.aggregator.short}` is 0 or 1 for a sample"
        else:
            detail = f"k = {k} is more than the {trials} trials{of}: the figure is extrapolated"
        hint = "nothing shows so many trials; more `num_trials` would"
        yield Fault(path, "suspicious_k", detail, hint, level="warning")


def _texts_measured(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    for number, scorer in enumerate(definition.scorers):
        path: Path = (*_DEFINITION, "scorers", number)
        read: list[tuple[Path, str, Iterable[str]]] = []
        if scorer.metrics is not None:
            read = [
                ((*path, "metrics", place), one.type, one.fields() or ())
                for place, one in enumerate(scorer.metrics)
            ]
        elif scorer.purpose == "score":
            read = [(path, kind, (field,)) for kind, field in scorer.default_metrics]
        for where, kind, fields in read:
            for name in sorted(set(fields) & set(scorer.texts)):
                detail = (
                    f"`{name}` is a text, and over {trials} trials there is nothing of it: "
                    f"`{kind}` will have no value"
                )
                hint = "`repeatability` compares texts between runs; or try each sample once"
                yield Fault(where, "no_value_over_trials", detail, hint, level="warning")


def _rules(definition: BenchmarkTask, trials: int) -> Iterator[Fault]:
    scorers = {one.key or one.type: one for one in definition.scorers}
    for number, rule in enumerate(definition.actions or ()):
        path = (*_DEFINITION, "actions", number, "filter")
        expression = rule.filter.expression
        for _, key, name, *_ in (one for one in expression.variables() if _is_score(one)):
            if key in scorers and name in scorers[key].texts:
                detail = f"`{name}` is a text, and over {trials} trials there is nothing of it"
                hint = "let a `python` scorer make a number of it, or try each sample once"
                yield Fault((*path, "expression"), "no_value_over_trials", detail, hint)
        alone = _A_SCORE.fullmatch(expression.source.strip())
        scorer = scorers.get(alone[1]) if alone else None
        if alone is None or scorer is None or scorer.gives is None or rule.filter.op not in _TRUTHS:
            continue
        given = set(names_after(definition.trials, scorer.gives, scorer.texts)) - {*scorer.texts}
        if alone[2] in given:
            detail = (
                f"`{rule.filter.op}` wants true or false, and over {trials} trials "
                f"`{alone[2]}` is their mean, a number"
            )
            sign = "greater_than" if rule.filter.op == "is_true" else "less_than"
            hint = f"compare it: `op: {sign}`, `value: 0.5`"
            yield Fault((*path, "op"), "no_value_over_trials", detail, hint)


def _is_score(path: tuple[Any, ...]) -> bool:
    """Whether a variable leads to one score of one scorer."""
    return len(path) >= len(("scores", "key", "name")) and path[0] == "scores"
