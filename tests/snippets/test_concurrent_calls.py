"""Functions that ask the model: many at once, and one that goes wrong costs itself."""

import asyncio
from typing import Any

import pytest
from tests.living import is_running
from tests.snippets.made import Made, told

from evalwright.errors import SnippetFailed
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.sources import Source

DEFS = pytest.mark.parametrize(
    ("word", "wait"),
    [pytest.param("async def", "await ", id="async"), pytest.param("def", "", id="sync")],
)


def answer(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


async def predict(question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
    return answer(str(question))


class Slow:
    """A model that takes its time, and counts who waits."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.waiting = self.most = self.cancelled = 0
        self.asked = asyncio.Event()

    async def __call__(self, question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        self.asked.set()
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return answer(str(question))


@DEFS
def test_sixty_four_are_in_flight_in_one_process(word: str, wait: str) -> None:
    slow = Slow(0.5)
    text = f"import os\n{word} f(n, model): return [n, ({wait}model.predict(n)).text, os.getpid()]"

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask(*([n] for n in range(64)), predict=slow)

    results = asyncio.run(work())

    assert [result[:2] for result in results] == [[n, str(n)] for n in range(64)]
    assert len({result[2] for result in results}) == 1
    assert slow.most == 64


def test_plain_functions_that_wait_for_something_outside_wait_together() -> None:
    text = "import threading\nall = threading.Barrier(32)\ndef f(n): all.wait(30); return n"

    async def work() -> list[Any]:
        async with Made(text) as made:
            calls = (made.pool.call("one:f", [n], timeout_s=60, waits=True) for n in range(32))
            return await asyncio.gather(*calls)

    assert asyncio.run(work()) == list(range(32))


@DEFS
def test_the_time_that_a_model_takes_does_not_count(word: str, wait: str) -> None:
    text = f"{word} f(n, model): return ({wait}model.predict(n)).text"

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([1], predict=Slow(1.0), timeout_s=0.3)

    assert asyncio.run(work()) == ["1"]


@DEFS
def test_the_time_after_an_answer_counts(word: str, wait: str) -> None:
    pause = "await asyncio.sleep(9)" if wait else "time.sleep(9)"
    text = (
        f"import asyncio, time\n{word} f(n, model):\n    {wait}model.predict(n)\n"
        f"    if n: {pause}\n    return n"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            results = await made.ask([0], [1], [0], predict=predict, timeout_s=0.5)
            return told(results + await made.ask([0], predict=predict))

    assert asyncio.run(work()) == [0, "timeout", 0, 0]


def test_a_process_that_lost_a_thread_is_replaced_when_it_owes_nothing() -> None:
    text = "import os, time\ndef f(n, model):\n    time.sleep(n)\n    return os.getpid()"

    async def work() -> tuple[Any, Any, list[int]]:
        async with Made(text) as made:
            (first,) = await made.ask([0], predict=predict)
            (lost,) = await made.ask([30], predict=predict, timeout_s=0.3)
            (second,) = await made.ask([0], predict=predict)
            assert told([lost]) == ["timeout"]
            return first, second, made.pids

    first, second, pids = asyncio.run(work())

    assert first != second
    assert pids == [second]
    assert not is_running(first)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param("spin_here()", "timeout", id="hangs"),
        pytest.param("os._exit(3)", "crashed", id="crashes"),
        pytest.param("await asyncio.gather(spin(), spin())", "timeout", id="a task of its own"),
    ],
)
def test_who_ends_the_process_fails_and_who_has_asked_nothing_is_called_again(
    body: str, kind: str
) -> None:
    text = (
        "import asyncio, os\ndef spin_here():\n    while True: pass\n"
        "async def spin(): spin_here()\n"
        "async def f(n, model):\n"
        "    if n == 2: await model.predict('paid')\n"
        "    await asyncio.sleep(0.1)\n"
        f"    if n == 1: {body}\n"
        "    await asyncio.sleep(0.3)\n"
        "    return n"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([0], [1], [2], [3], predict=predict, timeout_s=1.0)

    results = asyncio.run(work())

    assert told(results) == [0, kind, "crashed", 3]
    assert "another call ended its process, after it had queried the model" in str(results[2])
    assert str(results[1]).startswith("tasks/x.yaml:14 in f: ")


def test_a_thread_that_crashes_the_process_is_known() -> None:
    text = (
        "import os\ndef f(n, model):\n    model.predict(n)\n    if n == 1: os._exit(3)\n"
        "    model.predict('again')\n    return n"
    )

    async def again(question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        if question != 1:
            await asyncio.sleep(0.5)
        return answer("x")

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([0], [1], predict=again)

    results = asyncio.run(work())

    assert told(results) == ["crashed", "crashed"]
    assert "another call ended its process" in str(results[0])
    assert "exited with status 3" in str(results[1])


def test_where_the_guilty_is_not_known_all_who_ran_are_told() -> None:
    text = (
        "import os, time\ndef f(n, model):\n    time.sleep(0.3)\n    if n: os._exit(3)\n"
        "    time.sleep(5)"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([0], [1], predict=predict)

    results = asyncio.run(work())

    assert told(results) == ["crashed", "crashed"]
    assert all("this call or another of 2" in str(result) for result in results)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(
            "return [r.text for r in await asyncio.gather(*(model.predict(i) for i in range(3)))]",
            ["0", "1", "2"],
            id="several at once",
        ),
        pytest.param(
            "async with asyncio.TaskGroup() as group:\n"
            "        task = group.create_task(model.predict('x'))\n    return task.result().text",
            "x",
            id="a group of tasks",
        ),
        pytest.param(
            "async with asyncio.timeout(5): return (await model.predict('x')).text", "x", id="timed"
        ),
        pytest.param(
            "try: await asyncio.wait_for(model.predict('slow'), 0.05)\n"
            "    except TimeoutError: return (await model.predict('x')).text",
            "x",
            id="one that is given up",
        ),
        pytest.param(
            "return (await asyncio.to_thread(model.predict, 'x')).text", "x", id="from a thread"
        ),
        pytest.param("r = await model.predict(('a', 1)); return r.text", "['a', 1]", id="a tuple"),
        pytest.param(
            "try: await asyncio.create_task(leave())\n"
            "    except SystemExit: return (await model.predict('x')).text",
            "x",
            id="a task that exits",
        ),
    ],
)
def test_a_conversation_may_be_held_in_any_way(body: str, value: Any) -> None:
    text = f"import asyncio, sys\nasync def leave(): sys.exit(1)\nasync def f(model):\n    {body}"

    async def some(question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        if question == "slow":
            await asyncio.sleep(1)
        return answer(str(question))

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([], predict=some)

    assert asyncio.run(work()) == [value]


def test_a_plain_function_may_run_a_loop_of_its_own() -> None:
    text = (
        "import asyncio\nasync def g(model): return (await model.predict('x')).text\n"
        "def f(model): return asyncio.run(g(model))"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([], predict=Slow(1.5), timeout_s=0.3)

    assert asyncio.run(work()) == ["x"]


@DEFS
def test_nobody_asks_for_a_call_that_was_cancelled(word: str, wait: str) -> None:
    slow = Slow(30)
    text = f"{word} f(n, model): return ({wait}model.predict(n)).text"

    async def work() -> list[Any]:
        async with Made(text) as made:
            task = asyncio.create_task(made.ask([1], predict=slow))
            await slow.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.05)
            assert (slow.waiting, slow.cancelled) == (0, 1)
            return await made.ask([2], predict=predict)

    assert asyncio.run(work()) == ["2"]


@DEFS
def test_closing_asks_no_more(word: str, wait: str) -> None:
    slow = Slow(30)
    text = f"{word} f(n, model): return ({wait}model.predict(n)).text"

    async def work() -> list[Any]:
        made = Made(text)
        task = asyncio.create_task(made.ask([1], predict=slow))
        await slow.asked.wait()
        await made.pool.close()
        return told(await task)

    assert asyncio.run(work()) == ["stopped"]
    assert (slow.waiting, slow.cancelled) == (0, 1)


def test_a_question_where_nobody_answers_is_an_error() -> None:
    text = "async def f(model): return (await model.predict('x')).text"

    async def work() -> list[Any]:
        async with Made(text) as made:
            calls = made.pool.call("one:f", [None], objects=("Model",))
            return list(await asyncio.gather(calls, return_exceptions=True))

    (failed,) = asyncio.run(work())

    assert isinstance(failed, SnippetFailed)
    assert "there is no model to query" in str(failed)


def test_loading_one_source_is_no_time_of_anothers_call() -> None:
    waits = (
        "import asyncio\nasync def f(model):\n    await model.predict('x')\n"
        "    await asyncio.sleep(0.3)\n    return 1"
    )
    loads = "import time\ntime.sleep(0.8)\nasync def f(model): return 2"

    async def work() -> list[Any]:
        sources = {"waits": Source(waits, "a.py"), "loads": Source(loads, "b.py")}
        pool = SnippetPool(sources, log=print)
        slow = Slow(0.05)
        ask: dict[str, Any] = {"objects": ("Model",), "timeout_s": 0.5, "predict": slow}
        first = asyncio.create_task(pool.call("waits:f", [None], **ask))
        await slow.asked.wait()
        await asyncio.sleep(0.1)
        second = await pool.call("loads:f", [None], **ask)
        values = [await first, second]
        await pool.close()
        return values

    assert asyncio.run(work()) == [1, 2]


def test_a_loop_that_stands_still_is_noticed() -> None:
    text = (
        "import asyncio, time\nasync def f(n, model):\n"
        "    asyncio.get_running_loop().call_later(0.1, time.sleep, 60)\n"
        "    await asyncio.sleep(0.3)\n    return n"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.ask([1], predict=predict, timeout_s=0.4)

    (failed,) = asyncio.run(work())

    assert isinstance(failed, SnippetFailed)
    assert "its event loop hung" in str(failed)


@DEFS
def test_an_object_that_never_becomes_json_is_ended(word: str, wait: str) -> None:
    del wait
    text = (
        "class Slow:\n    def to_json(self):\n        while True: pass\n"
        f"{word} f(n, model): return Slow() if n else 0"
    )

    async def work() -> list[Any]:
        async with Made(text) as made:
            return told(await made.ask([0], [1], [0], predict=predict, timeout_s=0.4))

    assert asyncio.run(work()) == [0, "timeout", 0]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        pytest.param({"a": "\ud800"}, {"a": 1}, id="half a surrogate"),
        pytest.param({"a": 10**40}, {"a": 41}, id="a large number"),
        pytest.param({"a": object()}, "TypeError", id="no JSON"),
    ],
)
def test_whatever_the_model_gives_reaches_the_call(given: dict[str, Any], value: Any) -> None:
    text = (
        "async def f(model):\n    raw = (await model.predict('x')).raw_output\n"
        "    return {'a': len(str(raw['a']))}"
    )

    async def odd(_question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
        return given

    async def work() -> list[Any]:
        async with Made(text) as made:
            return told(await made.ask([], predict=odd))

    assert asyncio.run(work()) == [value]
