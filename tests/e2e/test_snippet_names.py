"""A project whose snippets use the importable classes in both directions, against a server."""

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import ASKED, run_file, task, write_project, write_rows
from tests.servers.model_server import ModelServer, chat

RUN = ("run", "run.yaml", "--json")

SOLVE = """\
from latticeflow.core.dtypes import (
    ChatCompletionInput,
    ChatCompletionInputMessage,
    InputTextContent,
    MessageStatus,
    SingleSolverOutput,
    SolverTrace,
    SystemMessage,
    Trace,
    TraceMetadata,
    UserMessage,
    model_output_to_trace_items,
)

async def run_solver(sample, model, trace: SolverTrace) -> SolverTrace:
    if sample["shape"] == "trace":
        part = InputTextContent(text=sample["question"])
        asked = UserMessage(id="m1", status=MessageStatus.completed, content=[part])
        response = await model.predict(Trace.from_items([asked]))
        metadata = TraceMetadata(agent="tester", tags=["e2e"])
        return Trace(items=[asked, *response.items], metadata=metadata)
    if sample["shape"] == "items":
        asked = SystemMessage(id="m0", status="completed", content=sample["question"])
        response = await model.predict([asked])
        return [asked, *model_output_to_trace_items(response.raw_output)]
    if sample["shape"] == "single":
        message = ChatCompletionInputMessage(role="user", content=sample["question"])
        model_input = ChatCompletionInput(messages=[message])
        response = await model.predict(model_input)
        return SingleSolverOutput.from_input_and_output(model_input, response.raw_output)
    trace.append_user_message(sample["question"])
    trace.add_model_response(await model.predict(trace))
    return trace
"""
POSTPROCESS = """\
from latticeflow.core.dtypes import Trace, UserMessage, SolverTrace

def postprocess(sample: dict[str, Any], solver_output: SolverOutput):
    follow_up = UserMessage(id="p", status="completed", content="thanks")
    longer = Trace(items=[*solver_output.items, follow_up])
    second = SolverTrace(trace=longer, raw_outputs=solver_output.raw_outputs)
    return [(sample, solver_output), ({**sample, "part": "longer"}, second)]
"""
SCORE = """\
from latticeflow.assessment.dtypes import ChatCompletionModelOutput, SampleScore, SolverTrace
from latticeflow.core.experimental.scorers import ExactMatchScorer, ScorerBase

class LengthScorer(ScorerBase):
    limit: int
    name: str = "is_short"

    def compute_scores(self, sample: Sample, solver_output: SolverOutput) -> SampleScore:
        assert isinstance(solver_output, SolverTrace)
        assert isinstance(solver_output.read_output(), ChatCompletionModelOutput)
        match solver_output.items[-1]:
            case {"role": "user"}:
                last = "user"
            case _:
                last = "assistant"
        exact = ExactMatchScorer(target_field="answer")(sample, solver_output)
        return SampleScore(
            values={self.name: len(solver_output.output) <= self.limit, **exact},
            metadata={"last": last, "part": sample.get("part", "whole")},
        )

compute_scores = LengthScorer(limit=5)
"""
MEASURE = """\
from latticeflow.core.dtypes import MetricValues, SampleScore

def compute_metrics(scores: list[SampleScore]) -> MetricValues:
    assert all(isinstance(score, SampleScore) for score in scores)
    ends = [score.metadata["last"] for score in scores]
    return {"short": sum(score.values["is_short"] for score in scores), "ends": ends.count("user")}
"""


def block(snippet: str, by: int) -> str:
    return "|\n" + indent(snippet, " " * by)


def definition() -> str:
    return (
        "  dataset: {key: rows}\n"
        "  solver:\n    type: python\n"
        f"    run_solver_snippet: {block(SOLVE, 6)}"
        "    postprocessor:\n      type: python\n"
        f"      postprocess_snippet: {block(POSTPROCESS, 8)}"
        "  scorers:\n    - type: python\n      key: length\n"
        f"      compute_scores_snippet: {block(SCORE, 8)}"
        "      metrics:\n        - type: python\n"
        f"          compute_metrics_snippet: {block(MEASURE, 12)}"
        "        - {type: mean, field: is_correct}\n"
    )


SHAPES = ("solver_trace", "trace", "items", "single")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("names")
    rows = [{"question": f"2 + {n}?", "answer": "4", "shape": SHAPES[n % 4]} for n in range(8)]
    write_rows(folder, rows)
    write_project(folder, run=run_file(ASKED), tasks__ask=task(definition()))
    with ModelServer(chat("4")) as server:
        assert evalwright(server, "validate", ".", cwd=folder).returncode == 0
        return folder, report_of(evalwright(server, *RUN, cwd=folder))


def test_objects_pass_through_solver_postprocessor_scorer_and_metric(
    project: tuple[Path, Any],
) -> None:
    _, report = project

    values = {row["metric"]: row["value"] for row in report["metrics"]}
    assert values == {"short": 16.0, "ends": 8.0, "is_correct_mean": 1.0}
    assert report["summary"]["failed"] == 0


def test_a_trace_that_a_solver_built_is_stored_as_it_was(project: tuple[Path, Any]) -> None:
    folder, _ = project

    traces = [outcome.trace.conversation for outcome in outcomes_in(folder) if outcome.trace]

    (built, *_) = [trace for trace in traces if "metadata" in trace]
    assert built["metadata"] == {"agent": "tester", "tags": ["e2e"]}
    assert built["items"][0]["id"] == "m1"
    assert [one["role"] for one in built["items"]][:2] == ["user", "assistant"]
    singles = [trace for trace in traces if len(trace["raw_outputs"]) == 1]
    assert len(singles) >= 4


def test_an_error_of_an_author_names_class_and_field(tmp_path: Path) -> None:
    snippet = (
        "from latticeflow.core.dtypes import UserMessage\n\n"
        "def compute_scores(sample):\n    return UserMessage(text='hi')\n"
    )
    write_rows(tmp_path, [{"question": "q"}])
    scorers = f"  scorers:\n    - type: python\n      compute_scores_snippet: {block(snippet, 8)}"
    write_project(
        tmp_path,
        run=run_file("{key: ask, task_key: ask, dataset_key: rows}"),
        tasks__ask=task(f"  evaluated_entity_type: dataset\n{scorers}      metrics: []\n"),
    )
    with ModelServer(chat("4")) as server:
        evalwright(server, *RUN, cwd=tmp_path)

    (outcome,) = outcomes_in(tmp_path)
    assert outcome.failure is not None
    message = outcome.failure.message
    assert message.startswith("tasks/ask.yaml:12 in compute_scores: ValueError: UserMessage: ")
    assert "missing required field `content`" in message


def test_a_model_in_python_may_return_an_object(tmp_path: Path) -> None:
    snippet = (
        "from latticeflow.core.dtypes import (\n"
        "    ChatCompletionModelOutput, ChatCompletionModelOutputChoice,\n"
        "    ChatCompletionOutputMessage, ModelUsage,\n)\n\n"
        "def run_inference(body, environment) -> ChatCompletionModelOutput:\n"
        "    message = ChatCompletionOutputMessage(role='assistant', content='ﻣﺮﺣﺒﺎ')\n"
        "    choice = ChatCompletionModelOutputChoice(message=message)\n"
        "    usage = ModelUsage(num_prompt_tokens=3, num_completion_tokens=1)\n"
        "    return ChatCompletionModelOutput(choices=[choice], usage=usage)\n"
    )
    write_rows(tmp_path, [{"question": "q"}])
    write_project(
        tmp_path,
        run=run_file("{key: ask, task_key: ask, model_key: bot}"),
        models__bot=(
            "key: bot\ndisplay_name: Bot\ntask: chat_completion\nconfig:\n"
            "  connection_type: custom_inference\n  timeout: 20\n"
            f"  run_inference_snippet: {block(snippet, 4)}"
        ),
        tasks__ask=task(
            "  dataset: {key: rows}\n  solver:\n    type: single_turn_solver\n"
            "    input_builder:\n      type: chat_completion\n      input_messages:\n"
            "        - {role: user, content: '{{ sample.question }}'}\n"
            "  scorers:\n    - {type: string_equals, ground_truth: 'ﻣﺮﺣﺒﺎ'}\n"
        ),
    )
    with ModelServer(chat("4")) as server:
        report = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert [row["value"] for row in report["metrics"]] == [1.0]
