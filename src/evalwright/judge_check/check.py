"""Check one judge of a stored run and store the result with the run.

The result is stored under the judge's identity, so reports of all runs with the same judge can show
it.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b
from heapq import nsmallest
from typing import Any

from msgspec import convert, structs, to_builtins

from evalwright.engine.redact import make_redactor, redact
from evalwright.errors import StoreError, UnknownName, UsageError
from evalwright.judge_check.agreement import compare_with_labels
from evalwright.judge_check.labels import HumanLabels, read_label_column, read_label_file
from evalwright.judge_check.options import JudgeCheckOptions
from evalwright.judge_check.rejudge import RejudgeResult, Rejudging
from evalwright.judge_check.unreadable import count_unreadable
from evalwright.nearest import suggest
from evalwright.plan.manifest import read_manifest
from evalwright.plan.model_names import canonical_names
from evalwright.plan.options import RunOptions, parse_options
from evalwright.ports import Store
from evalwright.report.judges import (
    CHECKS,
    Agreement,
    Judge,
    JudgeCheck,
    SampleToLabel,
    read_judges,
)
from evalwright.secrets import Redactor
from evalwright.session.progress import Progress, SilentProgress
from evalwright.session.stores import open_store
from evalwright.types import Outcome, Run


def judge_check(
    run_name: str, check: JudgeCheckOptions, *, progress: Progress | None = None, **options: Any
) -> JudgeCheck:
    """Compare the judge with people and query it again, depending on `check`.

    The other options are those of `RunOptions`.

        judge_check("latest", JudgeCheckOptions(labels="labels.csv"))
        judge_check("latest", JudgeCheckOptions(probes=("swap", "pad"), repeat=3))
    """
    run_options = parse_options(options)
    check.validate()
    progress = progress or SilentProgress()
    with closing(open_store(run_options.store, create=False)) as store:
        run = store.find(run_name)
        return _JudgeChecker(store, run, check, run_options, progress=progress).check()


class _JudgeChecker:
    """Checks one judge of a run."""

    def __init__(
        self,
        store: Store,
        run: Run,
        options: JudgeCheckOptions,
        run_options: RunOptions,
        *,
        progress: Progress,
    ) -> None:
        self._store, self._run, self._progress = store, run, progress
        self._options, self._run_options = options, run_options
        self._judge = _select_judge(run, options)
        self._models = _select_models(run, self._judge, options)
        self._redactor: Redactor = make_redactor()
        self._notes: list[str] = []
        if run.status in {"running", "stopped"}:
            self._notes.append(
                f"run {run.id} is not finished: only its stored verdicts are compared"
            )

    def check(self) -> JudgeCheck:
        """Read the labels before querying the judge, so that errors in them cost nothing."""
        labels = self._read_labels()
        agreement = self._compare(labels)
        rejudged = self._rejudge() if self._options.asks_judge else RejudgeResult()
        seed = self._run_options.seed
        tally = count_unreadable(self._judge, self._outcomes())
        check = JudgeCheck(
            run_id=self._run.id,
            judge=self._judge,
            checked=datetime.now(UTC).isoformat(timespec="seconds"),
            seed=seed,
            agreement=agreement,
            probes=[tally.to_row(seed=seed) for tally in rejudged.probes],
            repeats=rejudged.repeats.to_row(seed=seed) if rejudged.repeats else None,
            replies=tally.replies,
            unreadable=tally.to_rows(),
            unreadable_again=rejudged.unreadable.to_rows(),
            calls=rejudged.usage.requests,
            cost=rejudged.usage.cost,
            notes=self._notes,
            kept=not rejudged.stop_reason,
            to_label=self._propose_samples(labels),
        )
        if self._redactor:  # a sample's id or a failure may contain a secret
            check = convert(redact(to_builtins(check), self._redactor), JudgeCheck)
        return self._save(check) if check.kept else check

    def _compare(self, labels: HumanLabels | None) -> Agreement | None:
        if labels is None:
            return None
        if len(self._models) > 1 and self._options.labels and not labels.names_models:
            models = ", ".join(f"`{model}`" for model in self._models)
            raise UsageError(
                f"{labels.source}: the labels do not name a model, but `{self._judge.task}` "
                f"has answers from {models}",
                hint="name the model with `--model`, or add a column `model`",
            )
        if len(self._models) > 1 or labels.names_trials:
            self._notes.append(
                "several answers to the same sample are treated as independent: the "
                "intervals are slightly too narrow"
            )
        agreement = compare_with_labels(
            self._judge, labels, self._outcomes(), seed=self._run_options.seed
        )
        self._notes.extend(_describe_omissions(agreement))
        return agreement

    def _propose_samples(self, labels: HumanLabels | None) -> list[SampleToLabel]:
        """Draw samples without a label at random, because only random labels correct a mean."""

        def draw(sample: SampleToLabel) -> bytes:
            name = f"{self._run_options.seed} {sample.model} {sample.sample_id}"
            return blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()

        unlabelled = (
            SampleToLabel(
                sample_id=outcome.sample_id,
                model=outcome.model,
                output=outcome.output,
                verdict=str(score.values.get(self._judge.verdict_score, "")),
            )
            for outcome in self._outcomes()
            if (score := outcome.scores.get(self._judge.scorer)) is not None
            and not outcome.trial
            and (labels is None or labels.key_of(outcome) not in labels.by_answer)
        )
        return nsmallest(self._options.next, unlabelled, key=draw)

    def _read_labels(self) -> HumanLabels | None:
        options = self._options
        if options.labels:
            return read_label_file(
                options.labels,
                id_column=options.id_column,
                label_column=options.label_column,
                task=self._judge.task,
            )
        if options.column:
            return read_label_column(self._outcomes(), options.column)
        return None

    def _rejudge(self) -> RejudgeResult:
        rejudging = Rejudging(
            self._run,
            self._judge,
            self._store,
            self._run_options,
            models=self._models,
            progress=self._progress,
        )
        result = rejudging.run(self._options)
        self._redactor = rejudging.redactor
        if not result.samples:
            self._notes.append("no sample has a verdict, so the judge was not queried")
        if result.stop_reason:
            self._notes.append(
                f"stopped ({result.stop_reason}): the check is not stored with the run"
            )
        elif result.overspent:
            self._notes.append(result.overspent)
        if self._options.repeat == 1 and any(tally.flipped for tally in result.probes):
            self._notes.append(
                "a verdict may also change because the judge is uncertain: `--repeat 2` shows how "
                "often this happens with an unchanged prompt"
            )
        return result

    def _outcomes(self) -> Iterator[Outcome]:
        for model in self._models:
            yield from self._store.outcomes(self._run.id, task=self._judge.task, model=model)

    def _save(self, check: JudgeCheck) -> JudgeCheck:
        """Add the check to the run's current manifest, which may have changed meanwhile.

        A check that cannot be stored is still returned, because it may have cost money.
        """

        def add_check(manifest: dict[str, Any]) -> dict[str, Any]:
            return {**manifest, CHECKS: [*manifest.get(CHECKS, []), to_builtins(check)]}

        try:
            self._store.update(self._run.id, manifest=add_check)
        except StoreError as error:
            notes = [*check.notes, f"the check could not be stored with the run: {error.message}"]
            return structs.replace(check, kept=False, notes=notes)
        return check


def _select_judge(run: Run, options: JudgeCheckOptions) -> Judge:
    judges = read_judges(run)
    if not judges:
        raise UsageError(
            f"run {run.id} has no judge: no scorer in its tasks queries a judge model",
            hint="docs/guides/judges.md shows how to add one",
        )
    matches = [
        judge
        for judge in judges
        if options.task in {None, judge.task} and options.scorer in {None, judge.scorer}
    ]
    if not matches:
        wanted = f"{options.task or '*'}/{options.scorer or '*'}"
        raise UnknownName(
            f"run {run.id} has no judge `{wanted}`; its judges are "
            + ", ".join(f"`{judge.name}`" for judge in judges),
            hint=suggest(options.scorer or "", [judge.scorer for judge in judges])
            or suggest(options.task or "", [judge.task for judge in judges]),
        )
    checkable = [judge for judge in matches if judge.verdict_score]
    if not checkable:
        raise UsageError(
            f"`{matches[0].name}`: a {matches[0].type} scorer has no verdict to compare"
        )
    if len(checkable) > 1:
        names = ", ".join(f"`--task {judge.task} --scorer {judge.scorer}`" for judge in checkable)
        raise UsageError(f"run {run.id} has several judges", hint=f"select one: {names}")
    return checkable[0]


def _select_models(run: Run, judge: Judge, options: JudgeCheckOptions) -> list[str]:
    """Return the models whose answers were judged; an empty name if the task calls no model."""
    tasks = read_manifest(run).plan.tasks
    models: list[str] = next(list(task.models) for task in tasks if task.name == judge.task)
    if options.model is None:
        return models
    (name,) = canonical_names(options.model)
    if name not in models:
        known = ", ".join(f"`{model}`" for model in models if model) or "none"
        raise UnknownName(
            f"`{judge.task}` has no answers from `{name}`, only from {known}",
            hint=suggest(name, models),
        )
    return [name]


def _describe_omissions(agreement: Agreement) -> Iterator[str]:
    reasons = {
        "skipped rows for other tasks": agreement.elsewhere,
        "labels for samples that are not in the run": agreement.unmatched,
        "labels for answers from other models": agreement.other_models,
        "labels for trials that are not in the run": agreement.unmatched_trials,
        "labels without a column `trial` apply to the first trial; verdicts on other trials that "
        "were not compared": agreement.other_trials,
        "rows without a label": agreement.blank,
        "verdicts on samples without a label": agreement.unlabelled,
        "labeled samples without an answer to judge": agreement.no_answer,
        "labeled samples without a verdict, not compared": agreement.no_verdict,
    }
    return (f"{reason}: {count}" for reason, count in reasons.items() if count)
