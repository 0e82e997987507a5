import pytest

from evalwright.engine.redact import make_redactor, redact, refuse_secrets
from evalwright.errors import UsageError
from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.types import Issue

KEY = 'sk-4f1c+9A/z="7Qe\\2'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)


@pytest.mark.parametrize(
    ("names", "parameters"),
    [
        pytest.param([f"{KEY}.jsonl"], {}, id="in a path"),
        pytest.param([f"openai/{KEY}"], {}, id="in a model"),
        pytest.param([], {"user": KEY}, id="as a parameter"),
        pytest.param([], {"metadata": {"list": [KEY]}}, id="deep in one"),
        pytest.param([], {KEY: 1}, id="as the name of one"),
    ],
)
def test_a_secret_where_it_would_be_kept_is_refused_and_not_repeated(
    names: list[str], parameters: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match="contains a secret") as refused:
        refuse_secrets(names, parameters)

    assert KEY not in f"{refused.value.message} {refused.value.hint}"


def test_what_holds_no_secret_is_let_through() -> None:
    refuse_secrets(["tasks.jsonl", "openai/x"], {"temperature": 0, "stop": ["\n"], "f": object()})


def test_a_plan_quotes_no_secret_of_a_bad_record_and_is_otherwise_the_same() -> None:
    issue = Issue(line=3, rule="unknown_field", field=KEY, task_id=KEY, detail=f"`{KEY}` is not")
    nameless = Issue(line=4, rule="bad_json", field=None, detail="not JSON")
    task = TaskOutline(
        name="t", path="t.jsonl", records=1, code_exec=0, trials=1, issues=(issue, nameless)
    )

    found = redact(PlanOutline(tasks=(task,), models=("m",)), make_redactor())

    clean, same = found.tasks[0].issues
    assert (clean.line, clean.field, clean.task_id) == (3, "[redacted]", "[redacted]")
    assert clean.detail == "`[redacted]` is not"
    assert same == nameless
    assert found.models == ("m",)
