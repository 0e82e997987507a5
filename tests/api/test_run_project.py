"""An evaluation of task documents, from its files to its report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.model_server import Asked, ModelServer, chat, status

import evalwright as ew
from evalwright import api
from evalwright.errors import BadDataset, BadTasks, UnknownName, UsageError
from evalwright.report.report import MetricRow, Report
from evalwright.session.progress import SilentProgress

TASK = """\
key: capitals
display_name: Capitals
description: Does the model know capitals?
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "The capital of {{ sample.country }}?"}
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.capital }}"}
"""
DATASET = """\
key: countries
display_name: Countries
source: {type: local, file_path: countries.csv}
"""
ROWS = "country,capital\nFrance,Paris\nItaly,Rome\nSpain,Madrid\nPeru,Lima\n"
RUN = """\
models:
  - $provider: openai/atlas
evaluation:
  key: geography
  display_name: Geography
  task_specifications:
    - {key: first, task_key: capitals, model_key: openai$atlas}
"""
CAPITALS = {"France": "Paris", "Italy": "Milan", "Spain": "Madrid", "Peru": "Lima"}


async def atlas(asked: Asked) -> Any:
    country = asked.prompt.removeprefix("The capital of ").removesuffix("?")
    return await chat(CAPITALS[country])(asked)


class Told(SilentProgress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tell(self, text: str) -> None:
        self.lines.append(text)


Project = Callable[..., Path]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    with ModelServer(atlas) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-no-use")
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes files, those of the small project above among them, and goes there."""
    monkeypatch.chdir(tmp_path)

    def write(**files: str) -> Path:
        given = {name.replace("__", "/"): text for name, text in files.items()}
        whole = {
            "run.yaml": RUN,
            "tasks/capitals.yaml": TASK,
            "datasets/countries.yaml": DATASET,
            "datasets/countries.csv": ROWS,
        }
        for name, text in (whole | {_suffixed(key): one for key, one in given.items()}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def _suffixed(name: str) -> str:
    return name if "." in name else f"{name}.yaml"


def metric(report: Report, name: str, task: str = "first") -> MetricRow:
    return next(row for row in report.metrics if (row.task, row.metric) == (task, name))


def test_a_project_is_run_with_the_models_that_it_names(
    project: Project, server: ModelServer
) -> None:
    project()

    report = ew.run("run.yaml")

    row = metric(report, "is_correct_mean")
    assert (row.value, row.n, row.failed, row.model) == (0.75, 4, 0, "openai/atlas")
    assert row.ci_low is not None
    assert row.ci_low < 0.75
    assert (report.kind, report.status, report.models) == (
        "evaluation",
        "finished",
        ["openai/atlas"],
    )
    assert len(server.log) == 4


def test_the_same_command_again_asks_nothing(project: Project, server: ModelServer) -> None:
    project()
    first = ew.run("run.yaml")

    again = ew.run("run.yaml")

    assert again.run_id == first.run_id
    assert again.metrics == first.metrics
    assert (again.summary.reused, len(server.log)) == (4, 4)


def test_a_changed_scorer_scores_the_stored_answers(project: Project, server: ModelServer) -> None:
    project()
    ew.run("run.yaml")
    project(tasks__capitals=TASK.replace("sample.capital }}", "sample.capital | upper }}"))

    report = ew.run("run.yaml")

    assert metric(report, "is_correct_mean").value == 0.0
    assert len(server.log) == 4


def test_a_changed_prompt_asks_again(project: Project, server: ModelServer) -> None:
    project()
    ew.run("run.yaml")
    project(tasks__capitals=TASK.replace("The capital of", "The capital of "))
    server.behave(chat("Paris"))

    report = ew.run("run.yaml")

    assert metric(report, "is_correct_mean").value == 0.25
    assert len(server.log) == 8


def test_models_given_take_the_place_of_those_named(project: Project, server: ModelServer) -> None:
    project()

    report = ew.run("run.yaml", ["scripted/echo", "openai/atlas"])

    assert {(row.model, row.value) for row in report.metrics} == {
        ("scripted/echo", 0.0),
        ("openai/atlas", 0.75),
    }
    assert len(server.log) == 4


def test_a_model_has_one_name_and_is_paid_for_once(project: Project, server: ModelServer) -> None:
    project()
    ew.run("run.yaml")

    again = ew.run("run.yaml", "openai/atlas")

    assert (again.summary.reused, len(server.log)) == (4, 4)


def test_one_task_is_run_alone(project: Project, server: ModelServer) -> None:
    project()

    report = ew.run("tasks/capitals.yaml", "openai/atlas", limit=2)

    assert metric(report, "is_correct_mean", "capitals").n == 2
    assert len(server.log) == 2


def test_a_folder_is_its_run_file(project: Project, server: ModelServer) -> None:
    folder = project()

    assert ew.run(folder).tasks == ["first"]
    assert len(server.log) == 4


def test_a_failed_call_is_no_wrong_answer(project: Project, server: ModelServer) -> None:
    project()

    async def mostly(asked: Asked) -> Any:
        if "Peru" in asked.prompt:
            return await status(400)(asked)
        return await atlas(asked)

    server.behave(mostly)

    report = ew.run("run.yaml", retries=0)

    row = metric(report, "is_correct_mean")
    assert (row.value, row.n, row.failed) == (2 / 3, 3, 1)
    assert report.status == "finished_with_failures"
    assert [(one.stage, one.type, one.sample_ids) for one in report.failures] == [
        ("solver", "bad_request", ["3"])
    ]


def test_failed_samples_are_tried_again_when_that_is_wanted(
    project: Project, server: ModelServer
) -> None:
    project()
    server.behave(status(400))
    ew.run("run.yaml", retries=0)
    server.behave(atlas)

    report = ew.run("run.yaml", retry_failed=True)

    assert metric(report, "is_correct_mean").value == 0.75


def test_the_report_of_a_run_can_be_read_again(project: Project, server: ModelServer) -> None:
    project()
    report = ew.run("run.yaml")

    again = ew.load(report.run_id)

    assert again.to_dict() == report.to_dict()
    assert [one.sample["country"] for one in again.samples()] == [
        "France",
        "Italy",
        "Spain",
        "Peru",
    ]
    assert "Geography" not in again.to_markdown()
    assert len(server.log) == 4


def test_no_key_of_the_environment_is_kept(project: Project, server: ModelServer) -> None:
    folder = project()
    (folder / "datasets/countries.csv").write_text("country,capital\nsk-a-key-of-no-use,Paris\n")
    server.behave(chat("sk-a-key-of-no-use"))

    ew.run("run.yaml")

    kept = list(Path(api.store_name()).parent.glob("*.db*"))
    assert kept
    for file in kept:
        assert b"sk-a-key-of-no-use" not in file.read_bytes()


def test_every_error_of_a_project_is_counted_before_anything_runs(
    project: Project, server: ModelServer
) -> None:
    project(tasks__capitals=TASK.replace("ground_truth", "ground_trut"))

    with pytest.raises(BadTasks, match=r"tasks/capitals\.yaml:13: .*ground_trut") as raised:
        ew.run("run.yaml")

    assert raised.value.hint == "`evalwright validate run.yaml` shows each error with its position"
    assert server.log == []


def test_a_column_that_no_row_has_stops_everything(project: Project, server: ModelServer) -> None:
    project(tasks__capitals=TASK.replace("sample.capital", "sample.captial"))

    with pytest.raises(BadTasks) as raised:
        ew.run("run.yaml")

    assert raised.value.message == (
        "1 unknown column; nothing was run: tasks/capitals.yaml:13: dataset `countries` has no "
        "column `captial`; it has `country`, `capital`; did you mean `capital`?"
    )
    assert server.log == []


def test_every_broken_dataset_is_named_at_once(project: Project, server: ModelServer) -> None:
    folder = project(
        run=RUN + "    - {key: second, task_key: count, dataset_key: none}\n",
        tasks__count=COUNT,
        datasets__none=DATASET.replace("countries.csv", "no.jsonl").replace("countries", "none"),
    )
    (folder / "datasets/countries.csv").write_text("country,capital\n")
    (folder / "datasets/no.jsonl").write_text("[]\n")

    with pytest.raises(BadDataset) as raised:
        ew.run("run.yaml")

    assert "first: " in raised.value.message
    assert "second: " in raised.value.message
    assert server.log == []


COUNT = """\
key: count
display_name: Count
description: How long are the values?
config_spec:
  - {type: string, key: column, display_name: Column, default_value: country}
definition:
  evaluated_entity_type: dataset
  scorers:
    - type: python
      key: length
      compute_scores_snippet: |
        def compute_scores(sample):
            print("looking at", sample["<< config.column >>"])
            return {"n": len(sample["<< config.column >>"])}
      metrics:
        - {type: max, field: n}
"""


def test_a_dataset_is_evaluated_without_a_model(project: Project) -> None:
    project(tasks__count=COUNT)
    progress = Told()

    report = api.run("tasks/count.yaml", settings={"dataset_key": "countries"}, progress=progress)

    assert metric(report, "n_max", "count").value == 6.0
    assert (report.models, report.usage) == ([], {})
    assert any("looking at Spain" in line for line in progress.lines)


COUNTED = """\
    - type: python
      key: each
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"n": len(sample["one"]["country"])}
"""
TOGETHER = """\
key: together
display_name: Together
description: Do the rows belong together?
config_spec:
  - {type: dataset, key: one, display_name: One, default_value: countries}
  - {type: dataset, key: other, display_name: Other, default_value: copies}
definition:
  evaluated_entity_type: dataset
  dataset: {keys: ["<< config.one >>", "<< config.other >>"]}
  scorers:
    - type: python_all_samples
      key: same
      compute_scores_snippet: |
        def compute_scores(samples):
            pairs = zip(samples["one"], samples["other"], strict=True)
            return [{"same": one["capital"] == other["capital"]} for one, other in pairs]
      metrics: [{type: mean, field: same}]
"""


@pytest.mark.parametrize(
    "more", [pytest.param("", id="all at once"), pytest.param(COUNTED, id="one by one, too")]
)
@pytest.mark.parametrize("how", ["head", "random"])
def test_some_samples_of_several_datasets_are_those_of_the_same_places(
    project: Project, how: str, more: str
) -> None:
    project(
        tasks__together=TOGETHER + more,
        datasets__copies=DATASET.replace("countries", "copies"),
        **{"datasets__copies.csv": ROWS},
        more=f"run_config: {{num_samples: 3, subsampling: {how}}}\n",
    )

    report = ew.run("tasks/together.yaml", config="more.yaml", limit=2)

    row = metric(report, "same_mean", "together")
    assert (row.value, row.n, row.failed, report.failures) == (1.0, 2, 0, [])


@pytest.mark.parametrize(
    ("column", "longest"), [pytest.param("capital", 6.0, id="a value"), ("country", 6.0)]
)
def test_parameters_are_set(project: Project, column: str, longest: float) -> None:
    project(tasks__count=COUNT)
    settings = {"dataset_key": "countries", "column": column}

    report = ew.run("tasks/count.yaml", settings=settings)

    assert metric(report, "n_max", "count").value == longest


def test_parameters_come_from_a_file_too(project: Project) -> None:
    project(
        tasks__count=COUNT,
        more="config: {dataset_key: countries, column: capital}\nrun_config: {num_samples: 1}\n",
    )

    report = ew.run("tasks/count.yaml", config="more.yaml")

    assert metric(report, "n_max", "count").n == 1


def test_python_of_the_project_can_be_refused(project: Project) -> None:
    project(tasks__count=COUNT)

    with pytest.raises(
        UsageError, match=r"which `--no-snippets` does not allow: tasks/count\.yaml:12"
    ):
        ew.run("tasks/count.yaml", settings={"dataset_key": "countries"}, no_snippets=True)


def test_a_snippet_that_hangs_costs_its_sample(project: Project) -> None:
    hanging = COUNT.replace(
        'print("looking at", sample["<< config.column >>"])',
        'if sample["country"] == "Italy":\n                while True: pass',
    )
    project(tasks__count=hanging)

    report = ew.run("tasks/count.yaml", settings={"dataset_key": "countries"}, snippet_timeout=1.0)

    assert (metric(report, "n_max", "count").n, report.summary.failed) == (3, 1)
    assert report.failures[0].type == "timeout"


CHAIN = """\
evaluation:
  key: chain
  display_name: Chain
  task_specifications:
    - {key: second, task_key: doubt, task_config: {result: first}}
    - {key: first, task_key: count, dataset_key: countries}
"""
DOUBT = """\
key: doubt
display_name: Doubt
description: What did the other task say?
config_spec:
  - {type: task_result, key: result, display_name: Result}
definition:
  evaluated_entity_type: dataset
  dataset: {key: "<< config.result >>", source: task_result}
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            n = sample["scores"]["length"]["values"]["n"]
            return {"same": n == len(sample["sample"]["country"])}
      metrics: [{type: mean, field: same}]
"""


def test_a_task_may_read_the_results_of_another(project: Project) -> None:
    project(run=CHAIN, tasks__count=COUNT, tasks__doubt=DOUBT)

    report = ew.run("run.yaml")

    assert (metric(report, "same_mean", "second").value, report.status) == (1.0, "finished")
    assert metric(report, "same_mean", "second").n == 4


def test_the_results_may_be_of_an_earlier_run(project: Project) -> None:
    alone = "\n".join(line for line in CHAIN.splitlines() if "key: second" not in line)
    project(run=alone, tasks__count=COUNT, tasks__doubt=DOUBT)
    ew.run("run.yaml")

    report = ew.run("tasks/doubt.yaml", settings={"result": "first"})

    assert metric(report, "same_mean", "doubt").value == 1.0


RANK = """\
    - type: python_all_samples
      key: rank
      compute_scores_snippet: |
        def compute_scores(samples):
            return [{"place": n} for n, _ in enumerate(samples)]
"""


def test_the_results_have_the_scores_of_all_samples_too(project: Project) -> None:
    doubt = DOUBT.replace(
        """n = sample["scores"]["length"]["values"]["n"]
            return {"same": n == len(sample["sample"]["country"])}""",
        'return {"same": "rank" in sample["scores"]}',
    )
    project(run=CHAIN, tasks__count=COUNT + RANK, tasks__doubt=doubt)

    assert metric(ew.run("run.yaml"), "same_mean", "second").value == 1.0


def test_a_chain_may_be_written_in_any_order(project: Project) -> None:
    third = "    - {key: third, task_key: deeper, task_config: {result: second}}\n"
    head, _, rest = CHAIN.partition("  task_specifications:\n")
    deeper = DOUBT.replace("key: doubt", "key: deeper").replace(
        """n = sample["scores"]["length"]["values"]["n"]
            return {"same": n == len(sample["sample"]["country"])}""",
        'return {"same": sample["scores"]["python"]["values"]["same"]}',
    )
    project(
        run=f"{head}  task_specifications:\n{third}{rest}",
        tasks__count=COUNT,
        tasks__doubt=DOUBT,
        tasks__deeper=deeper,
    )

    report = ew.run("run.yaml")

    assert report.tasks == ["third", "second", "first"]
    assert [row.task for row in report.metrics] == ["third", "second", "first"]
    assert (metric(report, "same_mean", "third").value, report.summary.samples) == (1.0, 12)


ANSWERED = DOUBT.replace(
    """n = sample["scores"]["length"]["values"]["n"]
            return {"same": n == len(sample["sample"]["country"])}""",
    'return {"same": not sample["errors"]}',
)
ASKED = RUN + "    - {key: second, task_key: doubt, task_config: {result: first}}\n"


def test_the_conversation_of_a_result_can_be_read_as_in_the_task_itself(
    project: Project, server: ModelServer
) -> None:
    seen = ANSWERED.replace(
        'return {"same": not sample["errors"]}',
        """solved = sample["solver_output"]
            said = solved["output"]["choices"][0]["message"]["content"]
            return {"same": said == solved["messages"][-1]["content"]}""",
    )
    project(run=ASKED, tasks__doubt=seen)

    assert metric(ew.run("run.yaml"), "same_mean", "second").value == 1.0
    assert len(server.log) == 4


def test_what_reads_a_result_that_was_mended_is_done_again(
    project: Project, server: ModelServer
) -> None:
    project(run=ASKED, tasks__doubt=ANSWERED)
    server.behave(status(400))
    assert metric(ew.run("run.yaml", retries=0), "same_mean", "second").value == 0.0
    server.behave(atlas)

    report = ew.run("run.yaml", retry_failed=True)

    assert metric(report, "same_mean", "second").value == 1.0


def test_rows_of_several_models_on_the_same_samples_have_no_interval(
    project: Project, server: ModelServer
) -> None:
    project(run=ASKED, tasks__doubt=ANSWERED)

    one = metric(ew.run("run.yaml", "openai/atlas"), "same_mean", "second")
    two = metric(ew.run("run.yaml", ["openai/atlas", "scripted/echo"]), "same_mean", "second")

    assert (one.n, one.ci_low is None) == (4, False)
    assert (two.n, two.ci_low) == (8, None)
    assert "several models" in two.reason
    assert len(server.log) == 4


def test_no_cache_does_not_go_on_with_a_run_that_has_ended(
    project: Project, server: ModelServer
) -> None:
    project(run=RUN + "run_config: {cache_policy: no-cache}\n")
    server.behave(status(400))
    ew.run("run.yaml", retries=0)
    server.behave(atlas)

    assert metric(ew.run("run.yaml"), "is_correct_mean").value == 0.75


def test_a_run_that_is_gone_on_with_has_no_report_until_it_ends(
    project: Project, server: ModelServer
) -> None:
    project()
    report = ew.run("run.yaml")

    class Killed(Told):
        def begin(self, *_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.run("run.yaml", progress=Killed())

    with pytest.raises(UsageError, match="has no report yet"):
        ew.load(report.run_id)
    assert ew.run("run.yaml").to_dict()["metrics"] == report.to_dict()["metrics"]
    assert len(server.log) == 4


def test_failures_of_before_are_pointed_out(project: Project, server: ModelServer) -> None:
    project()
    server.behave(status(400))
    ew.run("run.yaml", retries=0)
    progress = Told()

    api.run("run.yaml", progress=progress)

    assert "4 of them failed: `--retry-failed` retries them" in progress.lines


def test_a_key_that_is_not_set_is_not_sent(project: Project) -> None:
    model = "key: own\nconfig: {url: http://127.0.0.1:9/, api_key: $NOT_SET_HERE}\n"
    project(models__own=model, run=RUN.replace("openai$atlas", "own"))

    with pytest.raises(
        UsageError, match="NOT_SET_HERE, the environment variable for `api_key`, is not set"
    ):
        ew.run("run.yaml")


def test_a_model_for_a_project_that_asks_none_has_nothing_to_do(project: Project) -> None:
    project(tasks__count=COUNT)

    with pytest.raises(UsageError, match="`-m scripted/echo` has no effect"):
        ew.run("tasks/count.yaml", "scripted/echo", settings={"dataset_key": "countries"})


@pytest.mark.parametrize("policy", ["update", "no-cache"])
def test_a_cache_policy_asks_again(project: Project, server: ModelServer, policy: str) -> None:
    project()
    ew.run("run.yaml")
    project(run=RUN + f"run_config: {{cache_policy: {policy}}}\n")

    ew.run("run.yaml")

    assert len(server.log) == 8


def test_samples_are_drawn_as_the_run_says(project: Project, server: ModelServer) -> None:
    project(run=RUN + "run_config: {num_samples: 2, subsampling: random}\n")

    first = ew.run("run.yaml")
    again = ew.run("run.yaml", fresh=True)

    drawn = [[one.sample_id for one in each.samples()] for each in (first, again)]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2
    assert len(server.log) == 4


SYSTEM = """\
key: register
display_name: Register
description: What is open?
definition:
  type: system_task
  compute_evidence_snippet: |
    async def compute_evidence():
        return {"metrics": {"open findings": {"value": 3, "reason": "see the register"}}}
"""


def test_a_system_task_has_the_metrics_of_its_snippet(project: Project) -> None:
    project(tasks__register=SYSTEM)

    report = ew.run("tasks/register.yaml")

    row = metric(report, "open findings", "register")
    assert (row.value, row.ci_low, row.reason, row.scorer) == (
        3.0,
        None,
        "see the register",
        "evidence",
    )


def test_two_projects_are_not_run_at_once(project: Project) -> None:
    project()

    with pytest.raises(UsageError, match="a project must be the only PATH"):
        ew.run(["run.yaml", "tasks/capitals.yaml"])


def test_a_model_that_nobody_declared(project: Project, server: ModelServer) -> None:
    project(run=RUN.replace("openai$atlas", "openai$atlsa"))
    server.behave(models("atlas"))

    with pytest.raises(UnknownName, match="unknown model `openai\\$atlsa`"):
        ew.run("run.yaml")


def models(*names: str) -> Any:
    async def answer(asked: Asked) -> Any:
        from aiohttp import web

        del asked
        return web.json_response({"data": [{"id": name} for name in names]})

    return answer


def test_stored_outputs_are_scored_again_without_asking(
    project: Project, server: ModelServer
) -> None:
    project()
    first = ew.run("run.yaml")

    again = api.score()

    assert len(server.log) == 4
    assert again.run_id != first.run_id
    assert again.metrics == first.metrics


def test_an_export_has_the_rows(project: Project, server: ModelServer) -> None:
    project()
    ew.run("run.yaml")

    lines = [json.loads(json.dumps(one.sample)) for one in api.export()]

    assert lines[0] == {"country": "France", "capital": "Paris"}
    assert len(server.log) == 4


NEAR = """\
key: count
display_name: Count
description: How many?
definition:
  evaluated_entity_type: dataset
  dataset: {key: countries}
  scorers:
    - type: python
      key: length
      compute_scores_snippet: !include length.py
      metrics: [{type: mean, field: n}]
"""
LENGTH = "from near import N\n\n\ndef compute_scores(sample):\n    return {'n': N}\n"


def test_a_changed_neighbour_of_a_snippet_scores_again(project: Project) -> None:
    def n(value: int) -> Any:
        files = {"tasks__length.py": LENGTH, "tasks__near.py": f"N = {value}\n"}
        project(tasks__count=NEAR, **files)
        return metric(ew.run("tasks/count.yaml"), "n_mean", "count").value

    assert [n(1), n(20), n(20)] == [1.0, 20.0, 20.0]


BY_ROW = """\
models:
  - key: own
    display_name: Own
    config:
      connection_type: custom_inference
      timeout: 10
      run_inference_snippet: |
        import json
        def run_inference(body, environment, sample):
            said = {"role": "assistant", "content": sample["capital"]}
            return json.dumps({"choices": [{"message": said}]})
evaluation:
  key: geography
  display_name: Geography
  task_specifications:
    - {key: first, task_key: capitals, model_key: own}
"""


def test_a_model_that_looks_at_the_row_is_asked_again_about_another(project: Project) -> None:
    def outputs() -> list[str]:
        ew.run("run.yaml")
        return [one.trace.output for one in api.export() if one.trace]

    project(run=BY_ROW)
    before = outputs()
    project(run=BY_ROW, **{"datasets__countries.csv": ROWS.replace("Rome", "Turin")})

    assert before == ["Paris", "Rome", "Madrid", "Lima"]
    assert outputs() == ["Paris", "Turin", "Madrid", "Lima"]


def test_one_snippet_with_other_parameters_finds_other_evidence(project: Project) -> None:
    told = SYSTEM.replace("compute_evidence()", "compute_evidence(context)").replace(
        '"value": 3', '"value": context["config"]["year"]'
    )
    parameter = "config_spec:\n  - {type: int, key: year, display_name: Year}\n"
    project(tasks__register=told.replace("definition:", f"{parameter}definition:"))

    found = [
        metric(ew.run("tasks/register.yaml", settings={"year": year}), "open findings", "register")
        for year in ("2025", "2026")
    ]

    assert [row.value for row in found] == [2025.0, 2026.0]
