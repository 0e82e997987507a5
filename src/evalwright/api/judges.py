"""The judges of a run, as its manifest has them: who judges what, and who that is exactly."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from evalwright.engine.keys import key_of
from evalwright.report.judges import CLASSIFIER, LABELER, SCORER, Judge, judge_rows

if TYPE_CHECKING:
    from evalwright.engine.run import Team
    from evalwright.ports import Model, Store
    from evalwright.report.report import Report
    from evalwright.types import Run


def judges_in(teams: "Mapping[str, Team]", models: "Mapping[str, Model]") -> list[dict[str, Any]]:
    """Of each task, the scorers that ask a model for its judgement, as JSON for the manifest."""
    found = [
        judge_of(task, name, scorer, model=team.others[key], client=models[team.others[key]])
        for task, team in teams.items()
        for name, scorer in team.scorers.items()
        if (key := judge_key(scorer))
    ]
    return list(to_builtins(found))


def with_judges(report: "Report", run: "Run", store: "Store") -> "Report":
    """The report, with what the store knows of the run's judges now."""
    if not run.manifest.get("judges"):
        return report
    return structs.replace(report, judges=judge_rows(run, store.runs()))


def judge_key(scorer: Any) -> str:
    """The model that a scorer asks for its judgement; empty if it asks none."""
    if getattr(scorer, "type", "") in {CLASSIFIER, LABELER, SCORER}:
        return str(scorer.model_key)
    return str(getattr(scorer, "judge_model_key", None) or "")


def judge_of(task: str, name: str, scorer: Any, *, model: str, client: "Model") -> Judge:
    """A scorer with the model that it asks."""
    labels: list[str] = getattr(scorer, "correct_labels", getattr(scorer, "valid_labels", []))
    return Judge(
        task=task,
        scorer=name,
        type=scorer.type,
        judge=judge_key(scorer),
        model=model,
        identity=key_of(
            scorer.type, str(scorer.version), scorer.settings, model, client.fingerprint
        ),
        correct_labels=list(labels),
        incorrect_labels=list(getattr(scorer, "incorrect_labels", ())),
        score_min=float(getattr(scorer, "score_min", 0.0)),
        score_max=float(getattr(scorer, "score_max", 1.0)),
    )
