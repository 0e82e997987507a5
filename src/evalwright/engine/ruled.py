"""Action rules: which samples are in no metric.

A sample of several trials is judged by its scores over all of them, and by its first answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from evalwright.engine.finishing import Finished, Finishing, Rule, failure_of, unsolved
from evalwright.errors import StageError, boundary
from evalwright.types import Action, Failure, Outcome, Trace

_MOST_TOLD = 3


def marked(outcome: Outcome, task: Finishing, finished: Finished) -> tuple[Outcome, bool]:
    """The outcome with the rules that apply to it or its parts, and whether one could not say."""
    stopped = outcome.failure is not None and outcome.failure.stage == "action"
    if not task.rules or unsolved(outcome):
        return outcome, stopped
    failure = None if stopped else outcome.failure
    undecided = False
    found: list[tuple[Action, ...]] = []
    for one in task.units(outcome):
        scores = {name: score.values for name, score in one.scores.items()}
        actions, broken = ruled(one.sample, one.trace, scores, task.rules)
        failure = failure or broken
        undecided = undecided or broken is not None
        found.append(actions)
        finished.left_out += bool(actions)
        for action in actions:
            finished.excluded[action.rule_key] += 1
    if not outcome.parts:
        actions = found[0] if found else ()
        return structs.replace(outcome, actions=actions, failure=failure), undecided
    made = zip(outcome.parts, found, strict=True)
    parts = tuple(structs.replace(part, actions=actions) for part, actions in made)
    return structs.replace(outcome, parts=parts, failure=failure), undecided


def ruled(
    sample: dict[str, Any],
    trace: Trace | None,
    scores: Mapping[str, Mapping[str, Any]],
    rules: Sequence[Rule],
) -> tuple[tuple[Action, ...], Failure | None]:
    """The rules that apply, and the first that could not say."""
    conversation = trace.conversation if trace else None
    actions: list[Action] = []
    failure: Failure | None = None
    for rule in rules:
        try:
            with boundary("action"):
                if rule.applies(sample, conversation, scores):
                    actions.append(Action(action=rule.action, rule_key=rule.key))
        except StageError as error:
            failure = failure or failure_of(error, rule.key)
    return tuple(actions), failure


def over_trials(
    failure: Failure, run: Sequence[Outcome], together: Mapping[str, Mapping[str, Any]]
) -> Failure:
    """The failure of a rule, with what trials have made of the scores that it may have read."""
    if len(run) == 1:
        return failure
    told: list[str] = []
    for scorer, score in run[0].scores.items():
        for name, value in score.values.items():
            now = together.get(scorer, {}).get(name)
            if isinstance(value, bool) and now is not None:
                told.append(f"`{scorer}.{name}` is the mean ({now:.3g})")
            elif isinstance(value, str):
                told.append(f"there is nothing of `{scorer}.{name}`, a text")
    if not told:
        return failure
    message = f"{failure.message}; over {len(run)} trials {', '.join(told[:_MOST_TOLD])}"
    hint = failure.hint or "compare the mean, such as `greater_than` 0.5"
    return structs.replace(failure, message=message, hint=hint)
