"""What every adapter does with an author's function: find it, call it, read what it returns.

Deadlines, crashes, and what a process does to itself are in the tests of the pool.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import pytest

from evalwright.components import Snippet
from evalwright.errors import BudgetSpent, ModelError, SnippetFailed
from evalwright.ports import Snippets
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.sources import Source, collect_sources

Make = Callable[[dict[str, Source]], Snippets]
CONVERSATION = {
    "items": [
        {"type": "message", "role": "user", "content": "2 + 2?"},
        {"type": "message", "role": "assistant", "content": "4"},
    ],
    "raw_outputs": [{"choices": [{"message": {"role": "assistant", "content": "4"}}]}],
    "direct_ios": [],
}
SOLVER = ("", "Model", "SolverTrace")


def pooled(sources: dict[str, Source]) -> Snippets:
    return SnippetPool(sources, log=print)


@pytest.fixture(params=[pytest.param(pooled, id="pool"), pytest.param(DirectSnippets, id="direct")])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def call(make: Make, text: str, arguments: list[Any], **more: Any) -> Any:
    """Call `f` of a source whose first line is the tenth of its file."""

    async def work() -> Any:
        snippets = make({"one": Source(text, "tasks/x.yaml", 10)})
        try:
            return await snippets.call("one:f", arguments, **more)
        finally:
            await snippets.close()

    return asyncio.run(work())


async def predict(question: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """A model that repeats the last thing said, and what else it was told."""
    said = question if isinstance(question, str) else question[-1]["content"][0]["text"]
    return {"choices": [{"message": {"role": "assistant", "content": f"{said} {kwargs}"}}]}


@pytest.mark.parametrize(
    ("text", "arguments", "value"),
    [
        pytest.param("def f(a, b): return a + b", [1, 2], 3, id="arguments"),
        pytest.param("def f(): return None", [], None, id="none"),
        pytest.param("async def f(a): return a", [1], 1, id="a coroutine"),
        pytest.param(
            "import asyncio\nasync def f():\n await asyncio.sleep(0)\n return 1", [], 1, id="waits"
        ),
        pytest.param(
            "import asyncio\nasync def g(): return 1\ndef f(): return asyncio.run(g())",
            [],
            1,
            id="a loop of its own",
        ),
        pytest.param(
            "def f(x): return x", [{"é": ["👋\n", 1.5, True]}], {"é": ["👋\n", 1.5, True]}
        ),
        pytest.param("def f(x): return x != x", [math.nan], True, id="NaN is NaN"),
        pytest.param("def f(x): return repr(x)", [-math.inf], "-inf", id="infinity, too"),
        pytest.param(
            "def f(row): return repr(row)",
            [{"a": math.nan, "b": None, "é": "ü"}],
            "{'a': nan, 'b': None, 'é': 'ü'}",
            id="NaN in a row",
        ),
        pytest.param(
            "async def f(row): return repr(row)", [{"a": math.nan}], "{'a': nan}", id="NaN, awaited"
        ),
        pytest.param(
            "def f(rows): return repr(rows)",
            [[{"a": 1}, {"a": math.nan}]],
            "[{'a': 1}, {'a': nan}]",
            id="NaN in one of the rows",
        ),
        pytest.param(
            "def f(rows): return repr(rows)",
            [{"one": [{"a": math.nan}], "other": [{"a": 1}]}],
            "{'one': [{'a': nan}], 'other': [{'a': 1}]}",
            id="NaN in a row of one of the tables",
        ),
        pytest.param(
            "def f(row): return repr(row)",
            [{"a": math.nan, "day": date(2024, 2, 29)}],
            "{'a': nan, 'day': '2024-02-29'}",
            id="NaN beside a date",
        ),
        pytest.param("def f(): return 10 ** 40", [], 10**40, id="a large number"),
        pytest.param("def f(): return (1, (2,))", [], [1, [2]], id="tuples are lists"),
        pytest.param(
            "def f(): return [float('nan'), {'a': -float('inf')}, 1.5]",
            [],
            [None, {"a": None}, 1.5],
            id="NaN and infinity are null",
        ),
        pytest.param("def f(): return {1: 2}", [], {"1": 2}, id="keys are names"),
        pytest.param("f = 'abc'.upper", [], "ABC", id="whatever is callable"),
        pytest.param("def f(n): return 'x' * n", [10**6], "x" * 10**6, id="a large result"),
        pytest.param("def f(x): return len(x)", ["x" * 10**7], 10**7, id="a large argument"),
        pytest.param("def f(x): import json; return json.__name__", [0], "json", id="imports"),
        pytest.param("def f(): return __name__ in __import__('sys').modules", [], True, id="name"),
        pytest.param(
            "import numpy\ndef f(): return {'m': numpy.float64(1), 'n': numpy.arange(2)}",
            [],
            {"m": 1.0, "n": [0, 1]},
            id="arrays and their numbers",
        ),
        pytest.param(
            "class Own:\n def to_json(self): return {'a': (1, 2)}\ndef f(): return [Own()]",
            [],
            [{"a": [1, 2]}],
            id="an object that can be JSON",
        ),
        pytest.param("def f(a): return a", [1, 2, 3], 1, id="takes fewer"),
        pytest.param("def f(*a): return a", [1, 2], [1, 2], id="takes any"),
        pytest.param("def f(a, b=None): return b", [1, 2], 2, id="a default is replaced"),
        pytest.param("def f(a, *, b=5): return a + b", [1, 2], 6, id="a name of its own"),
        pytest.param("def f(): return 1", [1], 1, id="takes none"),
        pytest.param(
            "class C:\n def __call__(self, a): return a\nf = C()", [1, 2], 1, id="an object's call"
        ),
    ],
)
def test_a_function_is_called(make: Make, text: str, arguments: list[Any], value: Any) -> None:
    assert call(make, text, arguments) == value


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param(
            "def f(x):\n    return {}['foo']",
            "KeyError",
            "tasks/x.yaml:11 in f: KeyError: 'foo'",
            id="an exception",
        ),
        pytest.param(
            "async def f(x):\n    raise ValueError",
            "ValueError",
            "tasks/x.yaml:11 in f: ValueError",
            id="no message",
        ),
        pytest.param(
            "import json\ndef f(x):\n    return g('{')\ndef g(x):\n    return json.loads(x)\n",
            "JSONDecodeError",
            "tasks/x.yaml:14 in g: JSONDecodeError: Expecting property",
            id="the author's innermost line",
        ),
        pytest.param(
            "def f(x): raise ValueError('a\\nb')",
            "ValueError",
            "tasks/x.yaml:10 in f: ValueError: a b",
            id="one line",
        ),
        pytest.param(
            "\ndef f(x): return {1}",
            "result",
            "tasks/x.yaml:11 in f: expected JSON, got `set` - at `$`",
            id="no JSON",
        ),
        pytest.param(
            "def f(x): return {'a': [1, {2, 3}]}",
            "result",
            "tasks/x.yaml:10 in f: expected JSON, got `set` - at `$.a[1]`",
            id="a part that is not JSON",
        ),
        pytest.param("def f(x): return b''", "result", "got `bytes` - at `$`", id="bytes"),
        pytest.param(
            "def f(x): return {(1, 2): 3}", "result", "got a key of type `tuple` - at `$`", id="key"
        ),
        pytest.param(
            "def f(x): return ['\\ud800']", "result", "a lone surrogate - at `$[0]`", id="surrogate"
        ),
        pytest.param("def f(x): return object", "result", "got `type` - at `$`", id="a class"),
        pytest.param(
            "def f(x): return {'n': 10 ** 5000}",
            "result",
            "the number is too long - at `$.n`",
            id="long",
        ),
        pytest.param("def f(x): yield 1", "result", "expected JSON, got `generator`", id="yields"),
        pytest.param(
            "async def f(x): yield 1", "result", "expected JSON, got `async_generator`", id="both"
        ),
        pytest.param("def f(x):\n    x = []; x.append(x); return x", "result", "recursive"),
        pytest.param(
            "def f(a, b, c): return 1",
            "TypeError",
            "tasks/x.yaml:10 in f: expected a function that takes 1 argument, but it requires"
            " `a`, `b`, `c`",
            id="requires more",
        ),
        pytest.param("def f(a, *, b): return 1", "TypeError", "requires `a`, `b`", id="a name"),
        pytest.param("def f(:", "SyntaxError", "tasks/x.yaml:10: SyntaxError: ", id="syntax"),
        pytest.param(
            "\n\n1 / 0", "ZeroDivisionError", "tasks/x.yaml:12: ZeroDivisionError: ", id="top level"
        ),
        pytest.param(
            "import nowhere", "ModuleNotFoundError", "tasks/x.yaml:10: ModuleNotFoundError: "
        ),
        pytest.param(
            "def g(): pass", "NameError", "tasks/x.yaml:10: expected a function `f`, got none"
        ),
        pytest.param("f = 1", "NameError", "expected a function `f`, got `int`", id="no function"),
    ],
)
def test_what_gives_no_value_says_where_and_why(
    make: Make, text: str, kind: str, message: str
) -> None:
    with pytest.raises(SnippetFailed) as failed:
        call(make, text, [0])

    assert failed.value.kind == kind
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)


def test_where_it_was_called_from_is_a_hint(make: Make) -> None:
    with pytest.raises(SnippetFailed) as failed:
        call(make, "def f():\n    g()\ndef g():\n    1 / 0", [])

    assert failed.value.hint == "called from tasks/x.yaml:11 in f"


def test_a_functions_arguments_become_objects(make: Make) -> None:
    text = (
        "def f(sample, solver_output):\n"
        "    return [sample['a'], solver_output.output.choices[0].message.content,\n"
        "            [m.role for m in solver_output.messages]]"
    )

    value = call(make, text, [{"a": 1}, CONVERSATION], objects=("", "SolverTrace"))

    assert value == [1, "4", ["user", "assistant"]]


def test_many_conversations_become_objects(make: Make) -> None:
    text = "def f(traces): return [str(trace.output) for trace in traces]"

    assert call(make, text, [[CONVERSATION, CONVERSATION]], objects=("SolverTraces",)) == ["4", "4"]


def test_scores_become_objects(make: Make) -> None:
    text = "def f(scores): return {'m': sum(s.values['x'] for s in scores)}"
    scores = [{"values": {"x": 1}, "metadata": None}, {"values": {"x": 2}}]

    assert call(make, text, [scores], objects=("SampleScores",)) == {"m": 3}


@pytest.mark.parametrize("name", ["latticeflow.core.dtypes", "latticeflow.assessment.dtypes"])
def test_the_names_that_authors_know_can_be_imported(make: Make, name: str) -> None:
    text = (
        f"from {name} import SampleScore, SolverTrace, Trace\n"
        "def f(trace):\n"
        "    from latticeflow.core.experimental.scorers import ScorerBase\n"
        "    return [isinstance(trace, SolverTrace), ScorerBase.__name__]"
    )

    assert call(make, text, [{}], objects=("SolverTrace",)) == [True, "ScorerBase"]


@pytest.mark.parametrize("word", ["async def", "def"])
def test_a_function_asks_the_model(make: Make, word: str) -> None:
    wait = "await " if word == "async def" else ""
    text = (
        f"{word} f(sample, model, trace):\n"
        "    trace.append_user_message(sample['q'])\n"
        f"    trace.add_model_response({wait}model.predict(trace.items, sample=sample))\n"
        f"    response = {wait}model.predict('again', n=1)\n"
        "    return [response.text, trace]"
    )

    text_of_answer, trace = call(
        make, text, [{"q": "Why?"}, None, {}], objects=SOLVER, predict=predict
    )

    assert text_of_answer == "again {'n': 1}"
    assert [item["role"] for item in trace["items"]] == ["user", "assistant"]
    assert trace["items"][1]["content"][0]["text"] == "Why? {'sample': {'q': 'Why?'}}"


@pytest.mark.parametrize("word", ["async def", "def"])
def test_a_function_may_handle_an_error_of_the_model(make: Make, word: str) -> None:
    wait = "await " if word == "async def" else ""
    text = (
        f"{word} f(model):\n"
        f"    try: {wait}model.predict('x')\n"
        "    except Exception as error: return [error.kind, str(error)]"
    )

    async def refuse(_question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        raise ModelError("rate_limit", "come back later")

    told = call(make, text, [None], objects=("Model",), predict=refuse)

    assert told == ["rate_limit", "come back later"]


@pytest.mark.parametrize("word", ["async def", "def"])
@pytest.mark.parametrize(
    "error", [ModelError("rate_limit", "come back later"), ValueError("odd")], ids=["ours", "any"]
)
def test_an_error_of_the_model_that_escapes_is_the_engines_own(
    make: Make, word: str, error: Exception
) -> None:
    wait = "await " if word == "async def" else ""
    text = f"{word} f(model):\n    return {wait}model.predict('x')"

    async def refuse(_question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        raise error

    with pytest.raises(type(error)) as raised:
        call(make, text, [None], objects=("Model",), predict=refuse)

    assert raised.value is error


@pytest.mark.parametrize("word", ["async def", "def"])
def test_the_end_of_the_run_is_no_authors_business(make: Make, word: str) -> None:
    wait = "await " if word == "async def" else ""
    text = (
        f"{word} f(model):\n"
        f"    try: {wait}model.predict('x')\n"
        "    except Exception: pass\n"
        "    return 1"
    )

    async def spent(_question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        raise BudgetSpent("all is spent")

    with pytest.raises(BudgetSpent, match="all is spent"):
        call(make, text, [None], objects=("Model",), predict=spent)


def test_a_question_that_is_no_json_is_the_authors_mistake(make: Make) -> None:
    text = "async def f(model):\n    return await model.predict([{1}])"

    with pytest.raises(SnippetFailed, match=r"x.yaml:11 in f: TypeError: model.predict: exp"):
        call(make, text, [None], objects=("Model",), predict=predict)


def test_many_conversations_are_held_at_once(make: Make) -> None:
    waiting, most = 0, 0

    async def slow(question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.3)
        waiting -= 1
        return await predict(question, {})

    async def work() -> list[Any]:
        text = "async def f(n, model): return [n, (await model.predict(str(n))).text]"
        snippets = make({"one": Source(text, "x.py")})
        ask = {"objects": ("", "Model"), "predict": slow}
        calls = [snippets.call("one:f", [n, None], **ask) for n in range(100)]  # type: ignore[arg-type]
        try:
            return await asyncio.gather(*calls)
        finally:
            await snippets.close()

    assert asyncio.run(work()) == [[n, f"{n} {{}}"] for n in range(100)]
    assert most == 100


def test_a_call_can_be_cancelled(make: Make) -> None:
    text = "import asyncio\nasync def f(x):\n    await asyncio.sleep(30 * x)\n    return x"

    async def work() -> Any:
        snippets = make({"one": Source(text, "x.py")})
        hanging = asyncio.create_task(_awaited(snippets.call("one:f", [1])))
        await asyncio.sleep(0.05)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        value = await snippets.call("one:f", [0])
        await snippets.close()
        return value

    assert asyncio.run(work()) == 0


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def test_sources_do_not_share_names(make: Make) -> None:
    one, two = Snippet("x = 1\ndef f(): return x"), Snippet("x = 2\ndef f(): return x")

    async def work() -> list[Any]:
        snippets = make(collect_sources([one, two]))
        values = [await snippets.call(each.function("f"), []) for each in (one, two)]
        await snippets.close()
        return values

    assert asyncio.run(work()) == [1, 2]


def test_mistakes_of_the_caller_are_the_callers(make: Make) -> None:
    async def work() -> None:
        snippets = make({"one": Source("def f(x): return x", "x.py")})
        with pytest.raises(KeyError, match="unknown source `two`"):
            await snippets.call("two:f", [])
        with pytest.raises(TypeError):
            await snippets.call("one:f", [object()])
        with pytest.raises(ValueError, match="got \\['Trace'\\]"):
            await snippets.call("one:f", [1], objects=("Trace",))
        assert await snippets.call("one:f", [1], objects=("", "SolverTrace")) == 1
        assert await snippets.call("one:f", [1], objects=("", "Model")) == 1
        await snippets.close()
        await snippets.close()
        with pytest.raises(RuntimeError, match="closed"):
            await snippets.call("one:f", [1])

    asyncio.run(work())
