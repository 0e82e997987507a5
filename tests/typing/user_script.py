"""A user's script with the whole public interface: mypy refuses every expression of type `Any`.

`pyproject.toml` sets `disallow_any_expr` for this file, so `make types` checks it.
"""

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import evalwright as ew

ROWS: list[Mapping[str, object]] = [
    {"country": "France", "city": "Paris"},
    {"country": "Italy", "city": "Rome"},
]
RECORD: dict[str, object] = {
    "task_id": "sum",
    "category": "arithmetic",
    "prompt": "17 + 24 =",
    "targets": ["41"],
    "metric_name": "exact_match",
    "post_process": "strip_whitespace",
}
POLICY: Mapping[str, object] = {
    "key": "release",
    "rules": [{"key": "measured", "definition": {"type": "exists", "metric": "score_mean"}}],
}


@ew.scorer
def mentions_city(sample: Mapping[str, object], output: str) -> bool:
    return str(sample["city"]) in output


@ew.scorer(name="length", limit=20)
def count_letters(output: str, *, limit: int) -> dict[str, float]:
    return {"is_short": len(output) <= limit, "letters": len(output)}


@ew.solver
async def ask_twice(sample: Mapping[str, object], model: ew.AsyncModel) -> str:
    first = await model.ask(f"Capital of {sample['country']}?")
    return await model.ask([{"role": "user", "content": f"Sure about {first}?"}])


@ew.solver(mark="!")
def ask_and_shout(sample: Mapping[str, object], model: ew.BlockingModel, *, mark: str) -> str:
    return model.ask(str(sample["country"])).upper() + mark


@ew.postprocessor
def take_last_word(output: str) -> str:
    return output.rsplit(maxsplit=1)[-1]


@ew.metric
def median(values: Sequence[float]) -> float:
    return statistics.median(values)


async def ask(prompt: str) -> str:
    await asyncio.sleep(0)
    return "Paris" if "France" in prompt else "It is Milan"


class Rome:
    """A model object."""

    caveat = ""
    fingerprint = "rome 1"

    async def complete(self, request: ew.Request) -> ew.Completion:
        message: ew.Message = request.messages[-1]
        return ew.Completion(text=f"Rome, not {message.content}", usage=ew.Usage(requests=1))

    async def close(self) -> None:
        """Nothing to do."""


TASK = ew.Task(
    "capitals", ROWS, prompt="Capital of {country}?", scorers=[mentions_city, "exact_match"]
)


@ew.test(TASK, min_mean=0.4)
def test_answer(prompt: str) -> str:
    return f"{prompt} Paris"


@ew.test(TASK, models=[ask], policies=POLICY, limit=1)
def test_report(report: ew.Report) -> None:
    assert report.summary.completed == 1


def run_tasks() -> ew.Report:
    model: ew.Model = Rome()
    solved = ew.Task(
        "solved",
        ROWS,
        solver=ask_twice,
        postprocessor=take_last_word,
        scorers=[count_letters],
        metrics=[median, {"type": "max", "field": "letters"}],
    )
    shouted = ew.Task("shouted", ROWS, solver=ask_and_shout, scorers=[{"type": "latency"}])
    return ew.run([TASK, solved, shouted], models=[ask, "scripted/echo", model], trials=1)


def read_report(report: ew.Report) -> list[str]:
    lines = [repr(report), report.to_markdown(), report.to_html(), report.to_json()]
    lines += [f"{row.task} {row.value} {row.ci_low} {row.n}" for row in report]
    lines += [f"{row.model} {row.mean}" for row in report.leaderboard]
    lines += [f"{row.a} {row.b} {row.difference}" for row in report.pairwise]
    mean: float | None = report["capitals"].mean
    keys: list[str] = list(report.to_dict())
    outcome: ew.Outcome
    for outcome in report.samples(wrong=True, task="capitals"):
        failure: ew.Failure | None = outcome.failure
        score: ew.Score
        for score in outcome.scores.values():
            lines.append(f"{score.correct} {score.reason} {failure} {outcome.output}")
        lines.append(f"{outcome.sample['country']} {outcome.score}")
    return [*lines, str(mean), *keys, str(len(report))]


def use_stored_runs(report: ew.Report) -> list[str]:
    loaded = ew.load(report.run_id)
    verdict: ew.GateResult = ew.gate(report, POLICY, strict=False)
    listed: list[ew.ListedRun] = ew.runs()
    comparison: ew.ComparisonReport = ew.compare(report, models=["ask", "scripted/echo"])
    rows: list[ew.ComparisonRow] = comparison.comparisons
    flips: list[ew.Flip] = comparison.flips
    lines = [str(verdict), str(verdict.holds), *(run.id for run in listed)]
    same: dict[str, object] = {"id": 1}
    problems = ew.check_dataset([same, same]).problems
    lines += [f"{problem.check} {problem.count}" for problem in problems]
    lines += [f"{row.verdict} {row.difference} {row.n}" for row in rows]
    lines += [f"{flip.sample_id} {flip.kind}" for flip in flips]
    return [loaded.status, *lines]


def use_records(path: Path) -> list[str]:
    records, errors = ew.validate(path)
    record: ew.TaskSpec = ew.validate_task(RECORD)
    issues: list[ew.Issue] = errors
    lines = [issue.message for issue in issues]
    lines += [finding.rule for finding in ew.lint(path)]
    score = ew.score_answer(record, "41")
    report = ew.run(path, models=["scripted/oracle"], limit=2, parameters={"temperature": 0})
    again = ew.score(report, tags={"again": "yes"})
    program: ew.JudgedProgram = ew.execute("def f():\n    return 1", ["assert f() == 1"])
    examples: list[ew.TaskSpec] = ew.load_fixtures()
    lines += [ew.render(record), ew.post_process(" 4 ", "strip_whitespace"), program.outcome]
    lines += [str(score.values), again.status, records[0].task_id, str(len(examples))]
    lines += [str(len(ew.validate_file(path).records)), str(len(ew.schema("records")))]
    return lines


def use_statistics() -> list[str]:
    interval = ew.bootstrap_mean_ci([0.2, 0.9, 0.5])
    wilson = ew.intervals.wilson(3, 4)
    bins = ew.calibration.reliability_bins([0.5, 0.9], [True, False])
    return [
        ew.__version__,
        f"{interval.low} {interval.high} {wilson.low}",
        f"{ew.metrics.f1('a b', ['a'])} {len(bins)}",
    ]


def rank() -> str:
    rows = ew.leaderboard.rank({"a": {"x": 1.0, "y": 0.0}, "b": {"x": 1.0, "y": 1.0}})
    return ew.leaderboard.to_text(rows)


def measure_perplexity(path: Path) -> ew.PerplexityReport:
    return ew.perplexity(path, models=["local/smollm2"])


async def use_event_loop(path: Path) -> list[str]:
    report = await ew.arun(TASK, ask, progress=False)
    verdict = await ew.agate(report, [POLICY])
    listed = await ew.aruns()
    comparison = await ew.acompare(report, report)
    loaded = await ew.aload(report.run_id)
    records = await ew.arun(path, "scripted/oracle", limit=1)
    scored = await ew.ascore(records.run_id)
    checked = await ew.avalidate([path])
    statuses = [loaded.status, scored.status, str(verdict.holds), str(len(comparison.flips))]
    return [*statuses, *(run.id for run in listed), *(record.task_id for record in checked.records)]


def catch_mistakes() -> list[str]:
    messages: list[str] = []
    try:
        ew.run(TASK)
    except ew.EvalwrightError as error:
        messages += [error.message, error.hint, str(error)]
    try:
        ew.validate_task({})
    except ew.InvalidTask as error:
        messages.append(error.message)
    return messages


def main(path: Path) -> list[str]:
    report = run_tasks()
    lines = [*read_report(report), *use_stored_runs(report), *use_records(path)]
    lines += [*use_statistics(), rank(), *asyncio.run(use_event_loop(path)), *catch_mistakes()]
    return lines
