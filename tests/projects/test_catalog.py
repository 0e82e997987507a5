from pathlib import Path

import pytest
from tests.api.demo import demo, files_in

from evalwright import api
from evalwright.errors import UnknownName, UsageError
from evalwright.projects.kinds import EntityKind
from evalwright.report.layout import lay_out_blocks
from evalwright.report.yaml_text import to_yaml
from evalwright.secrets import MASK

KEY = "sk-test-9d7fA+/Kq2"
MODEL = f"""\
key: bot
display_name: Bot
secrets:
  TOKEN: {KEY}
config:
  url: https://bot.example.com/v1/chat?key={KEY}
  api_key: $BOT_KEY
  custom_headers:
    X-Key: << secrets.TOKEN >>
    X-Other: {KEY}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "columns", "row"),
    [
        ("task", ("Key", "Entity type"), ("completeness", "dataset")),
        ("task", ("Key", "Entity type"), ("interpreter", "system")),
        ("dataset", ("Key", "Name"), ("customers", "Customers")),
        ("model", ("Key", "Name", "URL"), ("responder", "Responder", "custom_inference")),
        ("evaluation", ("Key", "Name"), ("first-steps", "First steps")),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_list_has_the_columns_of_its_kind(
    kind: EntityKind, columns: tuple[str, ...], row: tuple[str, ...]
) -> None:
    rows = [entity.table_row() for entity in api.list_entities(kind)]

    assert dict(zip(columns, row, strict=True)) in rows
    assert {tuple(cells) for cells in rows} == {columns}


@pytest.mark.usefixtures("project")
def test_what_has_errors_is_listed_as_such(project: Path) -> None:
    (project / "tasks" / "sums.yaml").write_text("key: sums\ndefinition: {scorrers: []}\n")

    listed = {one.key: one.valid for one in api.list_entities("task")}

    assert (listed["sums"], listed["capitals"]) == (False, True)


def test_a_model_shows_its_address_without_what_may_be_a_key(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_KEY", KEY)
    (project / "models" / "bot.yaml").write_text(MODEL)
    (project / "models" / "mini.yaml").write_text("$provider: openai/gpt-4.1-mini\n")

    urls = {one.key: one.url for one in api.list_entities("model")}

    assert urls["bot"] == "https://bot.example.com/v1/chat?…"
    assert urls["openai$gpt-4-1-mini"] == "openai/gpt-4.1-mini"


@pytest.mark.usefixtures("project")
def test_show_says_where_it_is_what_it_is_made_of_and_who_uses_it() -> None:
    shown = api.show_entity("task", "uniqueness")

    assert shown.files == ["tasks/uniqueness.yaml", "tasks/uniqueness.py"]
    assert [f"{one.file}: {one.what}" for one in shown.used_by] == [
        "run.yaml: evaluation `first-steps`, evaluation.task_specifications[6].task_key",
        "run.yaml: $ref: tasks/uniqueness.yaml",
    ]
    lines = "\n".join(lay_out_blocks(shown.to_blocks(), None))
    assert "entity type  dataset" in lines
    assert "def compute_scores(samples" in lines


@pytest.mark.usefixtures("project")
def test_a_name_that_is_part_of_another_is_no_use_of_it() -> None:
    uses = [one.what for one in api.show_entity("dataset", "sums").used_by]

    assert uses == ["task `sums`, definition.dataset.key", "$ref: datasets/sums.yaml"]


@pytest.mark.usefixtures("project")
def test_a_misspelled_key_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no task `captals`") as raised:
        api.show_entity("task", "captals")

    assert raised.value.hint == "did you mean `capitals`?"


def test_a_folder_without_a_project_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="not a project"):
        api.list_entities("task")
    with pytest.raises(UsageError, match="no such folder"):
        api.list_entities("task", "elsewhere")


def test_another_folder_is_a_project_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo(tmp_path / "there")
    monkeypatch.chdir(tmp_path)

    assert api.show_entity("task", "sums", "there").file == "there/tasks/sums.yaml"


def test_an_export_has_no_secret_and_keeps_the_names_of_variables(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_KEY", KEY)
    (project / "models" / "bot.yaml").write_text(MODEL)

    exported = api.export_entity("model", "bot")

    assert KEY not in to_yaml(exported)
    assert exported["secrets"] == {"TOKEN": MASK}
    assert exported["config"]["api_key"] == "$BOT_KEY"
    assert exported["config"]["custom_headers"] == {
        "X-Key": "<< secrets.TOKEN >>",
        "X-Other": MASK,
    }


def test_an_address_is_shown_without_variables_and_credentials(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = project / "models" / "bot.yaml"
    monkeypatch.setenv("BASE", "https://bot.example.com")
    monkeypatch.setenv("TENANT", "of-plain-words")
    shown = dict[str, object]()

    for url in ("$BASE/$TENANT", "https://bot.example.com/hooks/T0AB12CD34EF56/v1"):
        document.write_text(MODEL.replace(f"https://bot.example.com/v1/chat?key={KEY}", url))
        (listed,) = (entity for entity in api.list_entities("model") if entity.key == "bot")
        entity = api.show_entity("model", "bot")
        assert listed.url == entity.url
        shown[str(entity.url)] = entity.document["config"]["url"]

    assert shown == {
        "https://bot.example.com/[redacted]": "$BASE/$TENANT",
        "https://bot.example.com/hooks/[redacted]/v1": "https://bot.example.com/hooks/[redacted]/v1",
    }


@pytest.mark.parametrize("key", ["capitals", "counting", "sums", "second-thoughts", "uniqueness"])
def test_an_exported_task_says_the_same_as_the_task(key: str, project: Path) -> None:
    exported = api.export_entity("task", key)
    alone = project / "alone" / "tasks"
    alone.mkdir(parents=True)
    (alone / f"{key}.yaml").write_text(to_yaml(exported), encoding="utf-8")

    assert api.show_entity("task", key, "alone").document == exported
    assert api.show_entity("task", key, "alone").valid


@pytest.mark.usefixtures("project")
def test_the_paths_of_an_export_lead_from_where_it_is_written() -> None:
    here = api.export_entity("dataset", "customers")
    below = api.export_entity("dataset", "customers", folder="out/deep")

    assert here["source"]["file_path"] == "datasets/customers.csv"
    assert below["source"]["file_path"] == "../../datasets/customers.csv"


def test_delete_removes_the_file_and_nothing_else(project: Path) -> None:
    before = files_in(project)

    assert api.delete_entity("dataset", "customers") == "datasets/customers.yaml"

    assert before.keys() - files_in(project).keys() == {"datasets/customers.yaml"}


def test_what_stands_with_others_is_not_deleted(project: Path) -> None:
    before = files_in(project)

    with pytest.raises(
        UsageError, match=r"is in run\.yaml together with other documents"
    ) as raised:
        api.delete_entity("evaluation", "first-steps")

    assert raised.value.hint == "remove it there, at line 24"
    assert files_in(project) == before


def test_check_looks_at_one_kind_at_one_key_or_at_a_file(project: Path) -> None:
    (project / "tasks" / "sums.yaml").write_text("key: sums\ndefinition: {scorrers: []}\n")
    (project / "tasks" / "torn.yaml").write_text("key: [\n")
    (project / "datasets" / "traces.yaml").write_text("key: traces\n")

    def wrong(*names: str) -> set[str]:
        checks = api.check_entities("task", names)
        return {check.file for check in checks if list(check)}

    assert wrong() == {"tasks/sums.yaml", "tasks/torn.yaml"}
    assert wrong("sums") == {"tasks/sums.yaml"}
    assert wrong("capitals") == set()
    assert wrong("tasks/torn.yaml", "capitals") == {"tasks/torn.yaml"}
