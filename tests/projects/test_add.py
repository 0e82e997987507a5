from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.demo import demo, files_in

from evalwright import api
from evalwright.errors import BadTasks, Unreadable, UsageError
from evalwright.projects.try_dataset import DatasetPreview
from evalwright.spec.documents.yaml.text_files import allow_includes_below

TASK = """\
key: qa
display_name: QA
description: Questions.
long_description: !include texts/about.md
definition:
  dataset: {key: questions}
  solver:
    $ref: ../parts/solver.yaml
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.answer }}"}
"""
SOLVER = """\
type: single_turn_solver
input_builder:
  type: chat_completion
  input_messages:
    - {role: user, content: "{{ sample.question }}"}
"""
DATASET = "key: questions\ndisplay_name: Q\nsource: {type: local, file_path: rows/q.csv}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty one, with documents elsewhere to put into it."""
    given = {
        "new/qa.yaml": TASK,
        "new/texts/about.md": "# About",
        "parts/solver.yaml": SOLVER,
        "new/questions.yaml": DATASET,
        "new/rows/q.csv": "question,answer\n2 + 2,4\n",
        "new/essays.yaml": "key: essays\ndisplay_name: E\n"
        "source: {type: folder, directory_path: essays}\n",
        "new/essays/a.md": "A",
        "new/essays/more/b.md": "B",
    }
    for name, text in given.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with allow_includes_below([str(tmp_path)]):  # as `--include-root` does
        yield tmp_path / "project"


def test_a_task_comes_with_all_that_it_is_made_of(project: Path) -> None:
    (added,) = api.add_entities("task", ["../new/qa.yaml"])

    assert (added.key, added.status) == ("qa", "created")
    assert set(files_in(project)) == {"tasks/qa.yaml", "tasks/texts/about.md", "parts/solver.yaml"}
    assert added.warnings == [
        "tasks/qa.yaml:6: the project has no dataset `questions`; it has none"
    ]
    assert api.show_entity("task", "qa").valid


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("questions", {"datasets/questions.yaml", "datasets/rows/q.csv"}),
        ("essays", {"datasets/essays.yaml", "datasets/essays/a.md", "datasets/essays/more/b.md"}),
    ],
)
def test_a_dataset_comes_with_its_rows(name: str, files: set[str], project: Path) -> None:
    (added,) = api.add_entities("dataset", [f"../new/{name}.yaml"])

    assert set(added.files) == files == set(files_in(project))
    tried = api.try_dataset(name)
    assert isinstance(tried, DatasetPreview)
    assert tried.rows > 0


def test_a_pattern_stands_for_many(project: Path) -> None:
    demo(project.parent / "demo")

    added = api.add_entities("task", ["../demo/tasks/*.yaml"])

    assert len(added) == 8
    assert (project / "tasks" / "uniqueness.py").exists()


def test_the_same_again_changes_nothing_and_is_no_mistake(project: Path) -> None:
    api.add_entities("dataset", ["../new/questions.yaml"])
    before = files_in(project)

    (outside,) = api.add_entities("dataset", ["../new/questions.yaml"])
    (inside,) = api.add_entities("dataset", ["datasets/questions.yaml"])

    assert (outside.status, inside.status) == ("unchanged", "unchanged")
    assert files_in(project) == before


def test_a_key_that_is_taken_is_replaced_only_when_asked(project: Path) -> None:
    api.add_entities("dataset", ["../new/questions.yaml"])
    before = files_in(project)
    new = project.parent / "new"
    (new / "questions.yaml").write_text(DATASET.replace("display_name: Q", "display_name: R"))
    (new / "rows" / "q.csv").write_text("question,answer\n2 + 3,5\n")

    with pytest.raises(UsageError, match="already has the dataset `questions`") as raised:
        api.add_entities("dataset", ["../new/questions.yaml"])
    assert "--update" in raised.value.hint
    assert files_in(project) == before

    (added,) = api.add_entities("dataset", ["../new/questions.yaml"], update=True)
    assert added.status == "updated"
    assert b"2 + 3" in files_in(project)["datasets/rows/q.csv"]


def test_an_update_goes_where_the_old_one_is(project: Path) -> None:
    (project / "tasks" / "old").mkdir(parents=True)
    (project / "tasks" / "old" / "mine.yaml").write_text(
        TASK.replace("!include texts/about.md", "Old").replace("../parts", "../../parts")
    )
    (project / "parts").mkdir()
    (project / "parts" / "solver.yaml").write_text(SOLVER)
    plain = TASK.replace("!include texts/about.md", "New").replace(
        "    $ref: ../parts/solver.yaml\n", "    " + SOLVER.replace("\n", "\n    ").rstrip() + "\n"
    )
    (project.parent / "new" / "qa.yaml").write_text(plain)

    (added,) = api.add_entities("task", ["../new/qa.yaml"], update=True)

    assert added.files == ["tasks/old/mine.yaml"]
    assert not (project / "tasks" / "qa.yaml").exists()


def test_what_belongs_to_something_else_is_never_replaced(project: Path) -> None:
    api.add_entities("dataset", ["../new/questions.yaml"])
    new = project.parent / "new"
    (new / "questions.yaml").write_text(DATASET.replace("key: questions", "key: others"))

    with pytest.raises(UsageError, match="already exists with different content"):
        api.add_entities("dataset", ["../new/questions.yaml"], update=True)


@pytest.mark.parametrize("broken", ["key: qa\n", "key: [\n", TASK.replace("scorers", "scorrers")])
def test_a_bad_document_changes_nothing(broken: str, project: Path) -> None:
    (project.parent / "new" / "zz.yaml").write_text(broken)

    with pytest.raises((BadTasks, UsageError)):
        api.add_entities("task", ["../new/qa.yaml", "../new/zz.yaml"])

    assert files_in(project) == {}


def test_errors_are_told_with_their_places(project: Path) -> None:
    bad = project.parent / "new" / "bad.yaml"
    bad.write_text(TASK.replace("scorers", "scorrers"))

    with pytest.raises(BadTasks, match=r"nothing was added: .*bad\.yaml:9: ") as raised:
        api.add_entities("task", ["../new/bad.yaml"])

    assert "evalwright validate" in raised.value.hint


def test_a_document_of_another_kind_is_told_apart(project: Path) -> None:
    demo(project.parent / "demo")

    with pytest.raises(UsageError, match="got one of the kind `dataset`") as raised:
        api.add_entities("task", ["../new/questions.yaml"])
    assert raised.value.hint == "`evalwright dataset add`"
    with pytest.raises(UsageError, match="got a run file"):
        api.add_entities("task", ["../demo/run.yaml"])


@pytest.mark.parametrize("name", ["../new/nothing.yaml", "../new/*.yml", "../new/essays"])
@pytest.mark.usefixtures("project")
def test_what_is_no_file_is_said(name: str) -> None:
    with pytest.raises(Unreadable):
        api.add_entities("task", [name])


def test_two_documents_with_one_key_are_refused(project: Path) -> None:
    (project.parent / "new" / "copy.yaml").write_text(TASK)

    with pytest.raises(UsageError, match="have the same key `qa`"):
        api.add_entities("task", ["../new/qa.yaml", "../new/copy.yaml"])

    assert files_in(project) == {}


def test_a_dataset_without_its_rows_is_refused(project: Path) -> None:
    (project.parent / "new" / "rows" / "q.csv").unlink()

    with pytest.raises(BadTasks, match=r"no such file or folder: `rows/q\.csv`"):
        api.add_entities("dataset", ["../new/questions.yaml"])


def test_nothing_is_copied_out_of_the_project(project: Path) -> None:
    far = project.parent / "new" / "far.yaml"
    far.write_text(TASK.replace("../parts", "../../parts"))
    (project.parent.parent / "parts").mkdir(exist_ok=True)
    (project.parent.parent / "parts" / "solver.yaml").write_text(SOLVER)

    below_more = allow_includes_below([str(project.parent.parent)])
    with below_more, pytest.raises(UsageError, match="would be outside the project"):
        api.add_entities("task", ["../new/far.yaml"])

    assert files_in(project) == {}


def test_a_model_of_a_provider_is_added_by_its_name(project: Path) -> None:
    added = api.add_provider("openai/gpt-4.1-mini")

    assert (added.key, added.status) == ("openai$gpt-4-1-mini", "created")
    assert files_in(project) == {
        "models/openai-gpt-4-1-mini.yaml": b"$provider: openai/gpt-4.1-mini\n"
    }
    assert [one.key for one in api.list_entities("model")] == ["openai$gpt-4-1-mini"]
    assert api.add_provider("openai/gpt-4.1-mini").status == "unchanged"


@pytest.mark.usefixtures("project")
def test_a_provider_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean `openai`"):
        api.add_provider("opnai/gpt")
