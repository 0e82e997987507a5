"""Can a judge be trusted? Compare it with people, and ask it again in other ways.

    check = judge_check("latest", Check(labels="labels.csv"))
    check = judge_check("latest", Check(probes=("swap", "pad"), repeat=3))

What is found is kept with the run, under the judge's identity, and every report of a run with the
same judge says it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from evalwright.api.assembly import canonical, open_store
from evalwright.api.options import RunOptions, Unwatched, Watch, options_of
from evalwright.errors import StoreError, UnknownName, UsageError
from evalwright.nearest import nearest

if TYPE_CHECKING:
    from evalwright.api.asking_again import Answers
    from evalwright.api.labels import Labels
    from evalwright.ports import Store
    from evalwright.report.judges import Agreement, Judge, JudgeCheck
    from evalwright.secrets import Redactor
    from evalwright.types import Outcome, Run

PROBES = ("swap", "pad", "fence")
"""Those of `scorers.judging.probes`, which need not be imported to be named."""
_OPTIONS = "`--labels FILE`, `--column NAME`, `--probe swap|pad|fence|all` or `--repeat N`"


class Check(Struct, frozen=True, kw_only=True):
    """What to check a judge by."""

    labels: str | None = None
    """A file with labels that people gave."""
    id_column: str = "sample_id"
    label_column: str = "label"
    column: str | None = None
    """A column of the dataset that has them instead."""
    task: str | None = None
    scorer: str | None = None
    model: str | None = None
    """Whose answers; None for those of all models."""
    probes: tuple[str, ...] = ()
    repeat: int = 1
    """Verdicts a sample, that of the run among them."""
    samples: int = 50
    """How many samples probes and repeats are of."""

    @property
    def asks(self) -> bool:
        """Whether the judge is asked again."""
        return bool(self.probes) or self.repeat > 1


def judge_check(
    name: str, check: Check, *, watch: Watch | None = None, **options: Any
) -> "JudgeCheck":
    """Check a judge of a stored run; the options are those of `RunOptions`."""
    told = options_of(options)
    _refuse_nothing(check)
    store = open_store(told.store, create=False)
    try:
        return _Checking(store, store.find(name), check, told, watch=watch or Unwatched()).made()
    finally:
        store.close()


def _refuse_nothing(check: Check) -> None:
    if check.labels and check.column:
        raise UsageError("labels are in a file or in a column: give `--labels` or `--column`")
    for name in check.probes:
        if name not in PROBES:
            raise UnknownName(
                f"there is no probe `{name}`; there are {', '.join(PROBES)}",
                hint=f"did you mean `{close}`?" if (close := nearest(name, PROBES)) else "",
            )
    if check.repeat < 1 or check.samples < 1:
        raise UsageError("`repeat` and `samples` are at least 1")
    if not (check.labels or check.column or check.asks):
        raise UsageError("nothing to check the judge by", hint=_OPTIONS)


class _Checking:
    """One judge of one run."""

    def __init__(
        self, store: "Store", run: "Run", check: Check, options: RunOptions, *, watch: Watch
    ) -> None:
        self.store, self.run, self.check, self.options = store, run, check, options
        self.watch = watch
        self.judge = _chosen(run, check)
        self.models = _models(run, self.judge, check)
        self.notes = [*_unfinished(run)]

    def made(self) -> "JudgeCheck":
        """Labels are read before anything is asked: their mistakes cost nothing."""
        from datetime import UTC, datetime

        from evalwright.report.judges import JudgeCheck

        agreement = self._agreement()
        answers, redactor = self._answers()
        found = JudgeCheck(
            run_id=self.run.id,
            judge=self.judge,
            checked=datetime.now(UTC).isoformat(timespec="seconds"),
            seed=self.options.seed,
            agreement=agreement,
            probes=[one.row(seed=self.options.seed) for one in answers.flips] if answers else [],
            repeats=answers.repeats.row(seed=self.options.seed)
            if answers and answers.repeats
            else None,
            calls=answers.usage.requests if answers else 0,
            cost=answers.usage.cost if answers else 0.0,
            notes=[*self.notes, *_noise(self.check, answers)],
            kept=not (answers and answers.stopped),
        )
        found = _clean(found, redactor)
        return self._kept(found) if found.kept else found

    def _agreement(self) -> "Agreement | None":
        from evalwright.api.comparing import agreement_of

        labels = self._labels()
        if labels is None:
            return None
        if len(self.models) > 1 and self.check.labels and not labels.of_models:
            shown = ", ".join(f"`{one}`" for one in self.models)
            raise UsageError(
                f"{labels.source}: labels of answers, and `{self.judge.task}` has answers of "
                f"{shown}",
                hint="`--model` says whose they are, or a column `model`",
            )
        if len(self.models) > 1 or labels.of_trials:
            self.notes.append(
                "several answers to one sample are compared as if they were independent: the "
                "intervals are a little too narrow"
            )
        found = agreement_of(self.judge, labels, self._outcomes(), seed=self.options.seed)
        self.notes.extend(_left_out(found))
        return found

    def _labels(self) -> "Labels | None":
        from evalwright.api.labels import Columns, column_labels, read_labels

        if self.check.labels:
            columns = Columns(id=self.check.id_column, label=self.check.label_column)
            return read_labels(self.check.labels, columns, task=self.judge.task)
        if self.check.column:
            return column_labels(self._outcomes(), self.check.column)
        return None

    def _answers(self) -> "tuple[Answers | None, Redactor]":
        from evalwright.api.discretion import redactor_here

        if not self.check.asks:
            return None, redactor_here()
        from evalwright.api.asking_again import AskedAgain, Questions

        asked = AskedAgain(self.run, self.judge, self.store, self.options, watch=self.watch)
        questions = Questions(
            probes=self.check.probes, repeat=self.check.repeat, samples=self.check.samples
        )
        answers = asked.answers(questions, self.models)
        if not answers.samples:
            self.notes.append("no sample has a verdict, so the judge was asked nothing")
        if answers.exceeded and not answers.stopped:
            self.notes.append(answers.exceeded)
        if answers.stopped:
            self.notes.append(f"stopped ({answers.stopped}): the check is not kept with the run")
        return answers, asked.redactor

    def _outcomes(self) -> "Iterator[Outcome]":
        for model in self.models:
            yield from self.store.of_task(self.run.id, self.judge.task, model)

    def _kept(self, found: "JudgeCheck") -> "JudgeCheck":
        """With the run as it is now: it may go on, and another check may have been kept meanwhile.

        What was paid for is shown, even where it cannot be kept.
        """
        from msgspec import structs, to_builtins

        from evalwright.report.judges import CHECKS

        def with_this(manifest: dict[str, Any]) -> dict[str, Any]:
            return {**manifest, CHECKS: [*manifest.get(CHECKS, []), to_builtins(found)]}

        try:
            self.store.update(self.run.id, manifest=with_this)
        except StoreError as error:
            notes = [*found.notes, f"the check could not be kept with the run: {error}"]
            return structs.replace(found, kept=False, notes=notes)
        return found


def _chosen(run: "Run", check: Check) -> "Judge":
    from evalwright.api.manifest import is_evaluation
    from evalwright.report.judges import CHECKABLE, judges_of

    judges = judges_of(run) if is_evaluation(run) else []
    if not judges:
        what = "its tasks have no scorer that asks a model for its verdict"
        if not is_evaluation(run):
            what = "it is of task records, which no model judges"
        raise UsageError(
            f"run {run.id} has no judge: {what}", hint="docs/guides/judges.md says how to have one"
        )
    found = [
        one
        for one in judges
        if check.task in {None, one.task} and check.scorer in {None, one.scorer}
    ]
    if not found:
        raise _no_such(run, judges, check)
    able = [one for one in found if one.type in CHECKABLE]
    if not able:
        raise UsageError(f"`{found[0].name}`: a {found[0].type} gives no verdict to compare")
    if len(able) > 1:
        names = ", ".join(f"`--task {one.task} --scorer {one.scorer}`" for one in able)
        raise UsageError(f"run {run.id} has several judges", hint=f"name one: {names}")
    return able[0]


def _no_such(run: "Run", judges: "Sequence[Judge]", check: Check) -> UnknownName:
    names = ", ".join(f"`{one.name}`" for one in judges)
    close = nearest(check.scorer or "", [one.scorer for one in judges]) if check.scorer else None
    close = close or (nearest(check.task, [one.task for one in judges]) if check.task else None)
    asked = "/".join(one or "*" for one in (check.task, check.scorer))
    return UnknownName(
        f"run {run.id} has no judge `{asked}`; it has {names}",
        hint=f"did you mean `{close}`?" if close else "",
    )


def _models(run: "Run", judge: "Judge", check: Check) -> list[str]:
    """Whose answers were judged; one that is empty where the task asks no model."""
    tasks = run.manifest["plan"]["tasks"]
    models: list[str] = next(list(one["models"]) for one in tasks if one["name"] == judge.task)
    if check.model is None:
        return models
    (name,) = canonical(check.model)
    if name not in models:
        shown = ", ".join(f"`{one}`" for one in models if one) or "of no model"
        close = nearest(name, models)
        raise UnknownName(
            f"`{judge.task}` has no answers of `{name}`; it has {shown}",
            hint=f"did you mean `{close}`?" if close else "",
        )
    return [name]


def _unfinished(run: "Run") -> Iterator[str]:
    if run.status in {"running", "stopped"}:
        yield f"run {run.id} is not finished: only what it has stored is compared"


def _left_out(found: "Agreement") -> Iterator[str]:
    """What a reader must know of the labels that were not compared."""
    if found.elsewhere:
        yield f"rows of other tasks, passed over: {found.elsewhere}"
    if found.unmatched:
        yield f"labels of samples that the run does not have: {found.unmatched}"
    if found.other_models:
        yield f"labels of answers of other models: {found.other_models}"
    if found.unmatched_trials:
        yield f"labels of trials that the run does not have: {found.unmatched_trials}"
    if found.other_trials:
        yield (
            "labels without a column `trial` are of the first trial; verdicts on other trials, "
            f"compared nowhere: {found.other_trials}"
        )
    if found.blank:
        yield f"rows without a label: {found.blank}"
    if found.unlabelled:
        yield f"verdicts on samples that nobody labelled: {found.unlabelled}"
    if found.no_answer:
        yield f"labelled samples without an answer to judge: {found.no_answer}"
    if found.no_verdict:
        yield f"labelled samples without a verdict, compared nowhere: {found.no_verdict}"


def _noise(check: Check, answers: "Answers | None") -> Iterator[str]:
    flipped = answers is not None and any(one.flipped for one in answers.flips)
    if flipped and check.repeat == 1:
        yield (
            "a verdict may also flip because the judge is not sure: `--repeat 2` shows how often "
            "it does when nothing is changed"
        )


def _clean(found: "JudgeCheck", redactor: "Redactor") -> "JudgeCheck":
    """Without a secret in it: a sample's id and a failure may hold one."""
    if not redactor:
        return found
    from msgspec import convert, to_builtins

    from evalwright.engine.clean import cleaned_value

    return convert(cleaned_value(to_builtins(found), redactor), type(found))
