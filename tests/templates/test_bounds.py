import time

import pytest

from evalwright.templates import Native, Template
from evalwright.templates.bounds import MAX_OUTPUT

GROWN = (
    "{% set a = [] %}{% set n = namespace(x=a) %}"
    "{% for i in range(16) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
    "{% for i in range(9000) %}{% do a.append(1) %}{% endfor %}"
)
"""A list of 9,000 items that is 65,536 times in another."""
BOMBS = {
    "power": "{{ 9**(9**9) }}",
    "power of powers": "{{ 2**(2**(2**(2**(2**2)))) }}",
    "repeated string": "{{ 'a' * 10**9 }}",
    "repeated list": "{{ [0] * 10**9 }}",
    "repeated from the left": "{{ 10**9 * 'a' }}",
    "width by %": "{{ '%999999999d' % 1 }}",
    "width by % and *": "{{ '%*d' % (10**9, 1) }}",
    "precision by %": "{{ '%.999999999f' % 1.5 }}",
    "width by the filter format": "{{ '%999999999d'|format(1) }}",
    "width by format": "{{ '{:>999999999}'.format(1) }}",
    "width by format and an argument": "{{ '{:{w}}'.format(1, w=10**9) }}",
    "width by format_map": "{{ '{a:>999999999}'.format_map({'a': 1}) }}",
    "many fields of %": "{{ ('%(a)s' * 100000) % {'a': 'x' * 100000} }}",
    "many fields of format": "{{ ('{0}' * 100000).format('x' * 100000) }}",
    "center": "{{ 'x'|center(1000000000) }}",
    "center by map": "{{ ['x']|map('center', 10**9)|list }}",
    "method center": "{{ 'x'.center(10**9) }}",
    "method center by name": "{{ 'x'['center'](10**9) }}",
    "ljust": "{{ 'x'.ljust(10**9) }}",
    "zfill": "{{ 'x'.zfill(10**9) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**9) }}",
    "to_bytes": "{{ (1).to_bytes(10**10, 'big') }}",
    "bytes": "{{ 'x'.encode().center(10**9) }}",
    "translate": "{{ ('a' * 10000).translate({97: 'b' * 10000}) }}",
    "replace": "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
    "filter replace": "{{ ('a' * 100000)|replace('', 'b' * 100000) }}",
    "regex_replace": "{{ ('a' * 100000)|regex_replace('', 'b' * 100000) }}",
    "regex_replace with groups": (
        "{{ ('a' * 100000)|regex_replace('', '\\\\g<0>' ~ 'b' * 100000) }}"
    ),
    "join": "{{ (['a' * 100000] * 1000)|join }}",
    "join of a generator": "{{ (['a' * 10000] * 1000)|map('upper')|join('b' * 10000) }}",
    "method join": "{{ ('a' * 100000).join('b' * 1000) }}",
    "indent": "{{ 'x'|indent(1000000000) }}",
    "indent by text": "{{ ('\n' * 10000)|indent('x' * 10000, true) }}",
    "tojson indent": "{{ [1]|tojson(indent=1000000000) }}",
    "round": "{{ 3.5|round(1000000000, 'ceil') }}",
    "batch": "{{ [1]|batch(1000000000, 'x')|list }}",
    "slice": "{{ [1]|slice(1000000000)|list }}",
    "sum of lists": "{{ ([range(10000)|list] * 100)|sum(start=[]) }}",
    "range": "{{ range(10001) }}",
    "loops in loops": (
        "{% for i in range(9999) %}{% for j in range(9999) %}{{ 1 }}{% endfor %}{% endfor %}"
    ),
    "a text that doubles with ~": (
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}"
        "{% endfor %}"
    ),
    "a text that doubles with +": (
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}"
        "{% endfor %}"
    ),
    "a list that doubles": (
        "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}"
        "{% endfor %}"
    ),
    "a dict that doubles": (
        "{% set n = namespace(x=1) %}{% for i in range(99) %}"
        "{% set n.x = {'a': n.x, 'b': n.x} %}{% endfor %}"
    ),
    "a number that squares itself": (
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}"
    ),
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}"
    ),
    "a macro without end": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a loop that calls itself": (
        "{% for x in [1, 2] recursive %}{% if loop.depth < 50 %}{{ loop([1, 2]) }}{% endif %}"
        "{% endfor %}"
    ),
    "a list that grows while a loop runs over it": (
        "{% set xs = [1] %}{% for x in xs %}{% do xs.append(x) %}{% endfor %}"
    ),
    "a list that extends itself": (
        "{% set xs = [1] %}{% for i in range(99) %}{% do xs.extend(xs) %}{% endfor %}"
    ),
    "many ranges in a list": (
        "{% set xs = [] %}{% for i in range(9999) %}{% do xs.extend(range(9999)) %}{% endfor %}"
    ),
    "a list that many lists hold, printed": GROWN + "{{ n.x }}",
    "a list that many lists hold, as JSON": GROWN + "{{ n.x|tojson }}",
    "a list that many lists hold, compared": GROWN + "{{ n.x == [n.x][0] }}",
    "a list that many lists hold, passed on": GROWN + "{{ [[n.x]].index([n.x]) }}",
    "a list that holds itself": "{% set xs = [1] %}{% do xs.append(xs) %}{{ xs }}",
    "a long output": "{% for i in range(1000) %}{{ big }}{% endfor %}",
}


@pytest.mark.parametrize("source", [pytest.param(one, id=name) for name, one in BOMBS.items()])
@pytest.mark.parametrize("kind", ["text", "native"])
def test_a_bomb_does_not_go_off(kind: str, source: str) -> None:
    started = time.process_time()
    run = Template(source).render if kind == "text" else Native(source).evaluate

    with pytest.raises(ValueError, match=r"\(line \d\)"):
        run(big="x" * 10_000)

    assert time.process_time() - started < 10, "of CPU, on a machine that is busy"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{{ ''.__class__ }}", id="class"),
        pytest.param("{{ ''['__class__'] }}", id="class by key"),
        pytest.param("{{ ''|attr('__class__') }}", id="class by filter"),
        pytest.param("{{ '{0.__class__}'.format(1) }}", id="class by format"),
        pytest.param("{{ range.__globals__ }}", id="globals"),
        pytest.param("{% set add = sample.append %}{{ add(1) }}", id="a method by another name"),
        pytest.param("{{ (sample|attr('append'))(1) }}", id="a method by filter"),
        pytest.param("{{ ([sample]|map(attribute='append')|first)(1) }}", id="a method by map"),
        pytest.param("{{ dict.update({}, {'a': 1}) }}", id="a method of a class"),
        pytest.param("{{ (dict|attr('update'))({}, {}) }}", id="a method of a class by filter"),
        pytest.param("{{ lipsum() }}", id="lipsum"),
        pytest.param("{{ sample._private }}", id="underscore"),
    ],
)
def test_a_template_reaches_nothing_and_changes_nothing(source: str) -> None:
    sample = [1]

    with pytest.raises(ValueError, match=r"not accessible|call it directly|does not exist"):
        Template(source).render(sample=sample)

    assert sample == [1]


def test_an_output_of_a_mebibyte_is_the_longest() -> None:
    assert len(Template("{{ x }}").render(x="a" * MAX_OUTPUT)) == MAX_OUTPUT

    with pytest.raises(ValueError, match="longer than 1,048,576"):
        Template("{{ x }}b").render(x="a" * MAX_OUTPUT)


def test_honest_work_is_within_the_bounds() -> None:
    messages = [{"role": "user", "content": "word " * 200}] * 500
    source = (
        "{% for m in messages %}{{ loop.index }}. {{ m.role|upper ~ ':' }} {{ m.content|trim }}\n"
        "{% endfor %}{{ messages|map(attribute='role')|unique|join(', ') }}"
        "{{ '%5.1f' % 3.14159 }}{{ '{:>8}'.format('x') }}{{ 2**64 }}{{ 'ab' * 3 }}"
    )

    assert (
        Template(source)
        .render(messages=messages)
        .endswith("user  3.1       x18446744073709551616ababab")
    )


def test_each_render_has_a_budget_of_its_own() -> None:
    template = Template("{% for i in range(9999) %}{% endfor %}{{ 'x' * 7000000 == '' }}")

    assert [template.render() for _ in range(3)] == ["False"] * 3
