"""A project with judges, and a server that plays the model and the judge.

The model says what its row tells it to. The judge finds an answer right that has the reference in
it; what else it is moved by, a test says.
"""

from collections.abc import Callable
from pathlib import Path

from tests.servers.model_server import Asked

ANSWERS = ("yes", "yes", "yes", "yes", "no", "no", "no", "yes", "no", "no")
"""Of the samples q0 … q9. The reference is always yes."""
HUMAN = {"yes": "correct", "no": "incorrect"}
PROMPT = """\
Question: {{ sample.question }}

Reference: {{ sample.reference }}

Answer: {{ solver_output.output }}
"""
TASK = """\
key: answers
display_name: Judged
description: A task with a judge.
definition:
  dataset: {key: questions}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "Say: {{ sample.answer }}"}
  scorers:
"""
CLASSIFIER = """\
    - type: model_as_a_judge_classifier
      key: right
      model_key: openai/judge
      correct_labels: [correct]
      incorrect_labels: [incorrect]
      user_prompt: |
"""
GRADES = """\
    - type: model_as_a_judge_scorer
      key: grade
      model_key: openai/judge
      score_min: 1
      score_max: 5
      user_prompt: |
"""
KINDS = """\
    - type: labeler_via_model
      key: kind
      model_key: openai/judge
      valid_labels: [short, long, odd]
      user_prompt: |
"""
DATASET = """\
key: questions
display_name: Questions
source: {type: local, file_path: questions.csv}
"""
RUN = """\
evaluation:
  key: judging
  display_name: Judging
  task_specifications:
    - {key: answers, task_key: answers, model_key: openai/model}
"""


def indented(prompt: str) -> str:
    """A prompt as YAML wants it."""
    return "".join(f"        {line}" for line in prompt.splitlines(keepends=True))


def written(folder: Path, scorers: str = CLASSIFIER, prompt: str = PROMPT) -> Path:
    """The project, in a folder."""
    rows = [f"q{n},{n}?,yes,{one},{HUMAN[one]}\n" for n, one in enumerate(ANSWERS)]
    files = {
        "run.yaml": RUN,
        "tasks/answers.yaml": TASK + scorers + indented(prompt),
        "datasets/questions.yaml": DATASET,
        "datasets/questions.csv": "sample_id,question,reference,answer,human\n" + "".join(rows),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def server_of(judge: Callable[[str], str]) -> Callable[[Asked], str]:
    """What is said: the model's answer, or the judge's to its prompt."""

    def text(asked: Asked) -> str:
        if asked.body["model"] == "model":
            return asked.prompt.removeprefix("Say: ")
        return judge(asked.prompt)

    return text


def by_answer(prompt: str) -> str:
    """Right where the answer is yes."""
    return "correct" if "Answer: yes" in prompt else "incorrect"
