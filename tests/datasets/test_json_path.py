"""The subset of JSONPath: what is parsed, selected, located and refused."""

import json

import pytest

from evalwright.datasets.json_path import count_lines, locate, parse_path, select

DOCUMENT = """{
  "ignored": ["}", {"outputs": 0}],
  "runs": [
    {"samples": [{"id": 1}, {"id": 2}]},
    {"samples": [
      {"id": 3}]}
  ],
  "by name": {"ä": {"id": 4},
    "b": {"id": 5}}
}
"""


@pytest.mark.parametrize(
    ("path", "ids", "lines"),
    [
        pytest.param("$.runs[0].samples[*]", [1, 2], [4, 4], id="an index"),
        pytest.param("$.runs[*].samples[*]", [1, 2, 3], [4, 4, 6], id="two lists"),
        pytest.param("$['by name'][*]", [4, 5], [8, 9], id="the values of an object"),
        pytest.param('$["by name"].ä', [4], [8], id="a key that is not ASCII"),
    ],
)
def test_the_selected_objects_and_their_lines(path: str, ids: list[int], lines: list[int]) -> None:
    steps = parse_path(path)

    assert [row["id"] for row in select(json.loads(DOCUMENT), steps)] == ids
    assert list(count_lines(DOCUMENT, locate(DOCUMENT, steps))) == lines


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("$.outputs[*]", "no `outputs` in `$`; it has `ignored`, `runs`, `by name`"),
        ("$.runs[7]", "no item 7 in `$.runs`, which has 2"),
        ("$.runs.samples", "expected an object at `$.runs`, got a list"),
        ("$.ignored[0][*]", "expected a list or an object at `$.ignored[0]`, got a string"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared whole
        list(select(json.loads(DOCUMENT), parse_path(path)))

    assert str(caught.value) == message


@pytest.mark.parametrize("path", ["outputs", "$outputs", "$..a", "$.a[-1]", "$.a[0:2]", "$.a["])
def test_other_jsonpath_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"expected (a path|`\.key`)"):
        parse_path(path)
