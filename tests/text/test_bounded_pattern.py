import pytest

from evalwright.text.bounded_pattern import BoundedPattern, GroupMatch


def test_matches_are_found_from_left_to_right_with_their_group() -> None:
    pattern = BoundedPattern(r"x(\d)?")

    assert pattern.groups == 1
    assert list(pattern.find_all("x1 x")) == [GroupMatch(0, 2, 1, 2), GroupMatch(3, 4, -1, -1)]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("(a", r"not a regular expression: missing \) at character 3"),
        ("[b-a]", "not a regular expression: bad character range at character 5"),
        ("a" * 1_001, "at most 1,000 characters, got 1,001"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(source: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        BoundedPattern(source)


def test_an_expression_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match="it is nested too deeply"):
        BoundedPattern("(" * 499 + ")" * 499)


def test_repeats_of_repeats_are_not_written_out() -> None:
    assert list(BoundedPattern("(a{1,60000}){1,60000}").find_all("aa")) == [GroupMatch(0, 2, 0, 2)]


def test_a_search_ends_after_its_cpu_time() -> None:
    with pytest.raises(TimeoutError):
        list(BoundedPattern("(?:a|aa)+(c)d").find_all(f"{'a' * 60}x cd"))
