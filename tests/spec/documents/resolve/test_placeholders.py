from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.components import Authored
from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import DocumentPart
from evalwright.spec.documents.resolve.placeholders import (
    find_placeholders,
    placeholder_name,
    resolve_secrets,
    substitute_values,
)
from evalwright.spec.documents.yaml.problems import FieldPath as Way
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document

VALUES: dict[str, Any] = {
    "n": 3,
    "half": 0.5,
    "flag": True,
    "none": None,
    "word": "hello",
    "list": ["a", 1, True],
    "map": {"k": "é"},
    "my-col": "question",
}


def read(folder: Path, text: str) -> YamlDocument:
    (folder / "doc.yaml").write_text(text)
    return read_document(folder / "doc.yaml", environment={})


@pytest.mark.parametrize("name", list(VALUES))
@pytest.mark.parametrize("form", ["<< config.{} >>", "<<config.{}>>", "  <<  config.{}\t>>\n"])
def test_a_whole_text_becomes_the_value_itself(name: str, form: str) -> None:
    data, problems = substitute_values({"a": [form.format(name)]}, VALUES)

    assert problems == []
    assert data["a"][0] == VALUES[name]
    assert type(data["a"][0]) is type(VALUES[name])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("n = << config.n >>", "n = 3", id="a number"),
        pytest.param("<<config.half>>!", "0.5!", id="a fraction"),
        pytest.param("{% if << config.flag >> %}", "{% if True %}", id="a bool, for Jinja"),
        pytest.param("x = << config.none >>", "x = None", id="none, for Python"),
        pytest.param("<< config.word >> you", "hello you", id="a text"),
        pytest.param("{{ sample.<< config.my-col >> }}", "{{ sample.question }}", id="in Jinja"),
        pytest.param('row["<< config.my-col >>"]', 'row["question"]', id="in Python"),
        pytest.param("in << config.list >>", 'in ["a", 1, true]', id="a list is JSON"),
        pytest.param("= << config.map >>", '= {"k": "é"}', id="a mapping is JSON"),
        pytest.param("<< config.n >><< config.n >>", "33", id="two"),
        pytest.param("a < b and c > d", "a < b and c > d", id="comparisons"),
        pytest.param("cout << a.b >> c", "cout << a.b >> c", id="shifts"),
        pytest.param("if n < config.most:", "if n < config.most:", id="a comparison with config"),
        pytest.param("{% if 1 < config.x > 0 %}", "{% if 1 < config.x > 0 %}", id="two of them"),
        pytest.param("<< secrets.x >> left", "<< secrets.x >> left", id="secrets are not its own"),
    ],
)
def test_part_of_a_text_is_written_out(text: str, expected: str) -> None:
    assert substitute_values(text, VALUES) == (expected, [])


def test_it_reaches_every_text_and_leaves_what_came_in() -> None:
    data = {"a": {"<< config.word >>-key": [{"b": "x<< config.n >>"}]}, "c": 3, "d": None}

    made, problems = substitute_values(data, VALUES)

    assert problems == []
    assert made == {"a": {"hello-key": [{"b": "x3"}]}, "c": 3, "d": None}
    assert "<< config.word >>-key" in data["a"]  # type: ignore[operator]


def test_two_keys_that_become_one_are_a_problem() -> None:
    _, (problem,) = substitute_values({"hello": 1, "<< config.word >>": 2}, VALUES)

    assert problem.rule == "duplicate_key"


def test_a_value_is_not_searched_again() -> None:
    values = {"a": "<< config.b >>", "b": 1}

    assert substitute_values("<< config.a >>", values) == ("<< config.b >>", [])
    assert substitute_values("x << config.a >>", values) == ("x << config.b >>", [])


def test_what_comes_out_keeps_its_place() -> None:
    text = Authored("say << config.word >>", file="t.yaml", line=7)

    embedded, _ = substitute_values(text, VALUES)
    whole, _ = substitute_values(text.like("<< config.word >>"), VALUES)

    for made in (embedded, whole):
        assert isinstance(made, Authored)
        assert (made.file, made.line) == ("t.yaml", 7)


def test_a_value_that_was_written_elsewhere_keeps_that_place() -> None:
    value = Authored("prompt.md", file="run.yaml", line=3)

    made, _ = substitute_values(Authored("<< config.x >>", file="t.yaml", line=7), {"x": value})

    assert made is value


def test_an_undeclared_name_is_left_and_said_at_its_line(tmp_path: Path) -> None:
    document = read(tmp_path, "a:\n  - |\n    one\n    << config.wrod >>\nb: << config.zzz >>\n")

    data, faults = substitute_values(document.data, VALUES)
    problems = DocumentPart(document).problems(faults)

    assert data == document.data
    assert [(p.rule, p.level, p.line, p.column, p.field) for p in problems] == [
        ("undeclared_parameter", "error", 4, None, "a[0]"),
        ("undeclared_parameter", "error", 5, 4, "b"),
    ]
    assert problems[0].hint == "did you mean `<< config.word >>`?"
    assert "config_spec" in problems[1].hint


def test_a_part_of_a_document_is_reported_where_it_stands(tmp_path: Path) -> None:
    document = read(tmp_path, "tasks:\n  - key: t\n    n: << config.x >>\n")

    part = DocumentPart.inside(document, ("tasks", 0))
    _, faults = substitute_values(part.data, {})
    (problem,) = part.problems(faults)

    assert (problem.field, problem.line, problem.column) == ("tasks[0].n", 3, 8)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("<< confg.n >>", "`<< config.n >>`", id="config misspelt"),
        pytest.param("x << Config.n >> y", "`<< config.n >>`", id="config capitalised"),
        pytest.param("<<config.n>", "`<< config.n >>`", id="one bracket behind"),
        pytest.param("< config.n >>", "`<< config.n >>`", id="one bracket before"),
        pytest.param("<< config.n", "`<< config.n >>`", id="not closed"),
        pytest.param("<< config.n | upper >>", "`<< config.n >>`", id="a filter"),
        pytest.param("<< config.n n >>", "`<< config.n >>`", id="two words"),
        pytest.param("<< config. n >>", "`<< config.n >>`", id="a space"),
        pytest.param("<< config['n'] >>", "`<< config.name >>`", id="an index"),
        pytest.param("<< n >>", "`<< config.n >>`", id="without config"),
        pytest.param("<< secret.n >>", "`<< secrets.n >>`", id="secrets misspelt"),
        pytest.param("<< config.n >> << confg.n >>", "`<< config.n >>`", id="beside a good one"),
    ],
)
def test_what_looks_like_a_placeholder_is_a_warning(text: str, hint: str) -> None:
    _, (problem,) = substitute_values(text, VALUES)

    assert (problem.rule, problem.level) == ("malformed_placeholder", "warning")
    assert hint in problem.hint


def test_find_names_them_with_their_paths() -> None:
    data = {"a": ["<< config.x >>", {"b": "<<config.y>> and << config.x >>"}], "<< config.k >>": 1}

    assert list(find_placeholders(data)) == [
        (("a", 0), "x"),
        (("a", 1, "b"), "y"),
        (("a", 1, "b"), "x"),
        (("<< config.k >>",), "k"),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [(" << config.x-1 >> ", "x-1"), ("a << config.x >>", None), (3, None), ("x", None)],
)
def test_a_whole_placeholder_has_a_name(text: Any, name: str | None) -> None:
    assert placeholder_name(text) == name


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json)
def test_data_without_placeholders_come_back_as_they_are(data: Any) -> None:
    if not list(find_placeholders(data)):
        assert substitute_values(data, {})[0] == data


@given(
    st.lists(st.sampled_from(["<<", ">>", "<", ">", " config", ".n", " ", "\n", "x"])).map("".join)
)
def test_no_text_raises(text: str) -> None:
    made, problems = substitute_values(text, VALUES)

    assert all("\n" not in problem.detail for problem in problems)
    assert made == text or list(find_placeholders(text))


def anywhere(_: Way) -> bool:
    return True


def test_a_secret_takes_the_place_of_its_whole_text() -> None:
    data = {"api_key": " <<secrets.KEY>> ", "headers": {"x": "plain", "y": 1}}

    made, problems = resolve_secrets(data, {"KEY": "sk-1"}, allowed=anywhere)

    assert problems == []
    assert made["api_key"].declared
    assert made == {"api_key": Secret("sk-1"), "headers": {"x": "plain", "y": 1}}
    assert "sk-1" not in repr(made)


def test_an_unknown_secret_is_a_problem_with_the_nearest_name() -> None:
    data, (problem,) = resolve_secrets(
        {"a": "<< secrets.OPNAI >>"}, {"OPENAI": "sk-1"}, allowed=anywhere
    )

    assert data == {"a": "<< secrets.OPNAI >>"}
    assert (problem.rule, problem.path) == ("unknown_secret", ("a",))
    assert "`OPENAI`" in problem.hint
    assert "sk-1" not in repr(problem)


def test_a_secret_where_none_may_stand_is_a_problem() -> None:
    data, (problem,) = resolve_secrets(
        {"name": "<< secrets.K >>", "api_key": "<< secrets.K >>"},
        {"K": "v"},
        allowed=lambda path: path[-1] == "api_key",
    )

    assert data == {"name": "<< secrets.K >>", "api_key": Secret("v")}
    assert (problem.rule, problem.path) == ("secret_not_allowed", ("name",))


@pytest.mark.parametrize("text", ["Bearer << secrets.K >>", "<< secrets.K", "<< secrets.a b >>"])
def test_a_malformed_secret_is_a_text_with_a_warning(text: str) -> None:
    data, (problem,) = resolve_secrets(text, {"K": "v"}, allowed=anywhere)

    assert data == text
    assert (problem.rule, problem.level) == ("malformed_placeholder", "warning")
