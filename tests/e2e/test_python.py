"""The example of five lines, and everything else that users see of the Python interface first."""

import ast
import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.servers.model_server import ModelServer, chat

import evalwright as ew

ROOT = Path(__file__).parents[2]
EXAMPLE = """\
import evalwright as ew

@ew.scorer
def mentions_city(sample, output) -> bool:
    return sample["city"] in output

report = ew.run(
    ew.Task("capitals", data=[{"country": "France", "city": "Paris"}], prompt="Capital of {country}?", scorers=[mentions_city, "exact_match"]),
    models=[my_async_function, "openai/gpt-4.1-mini", my_model_object],
)
report.to_pandas(); report.samples(wrong=True); report["capitals"].mean
"""  # noqa: E501 - as it is printed


async def my_async_function(prompt: str) -> str:
    await asyncio.sleep(0)
    return f"{prompt} Paris!"


class Lyon:
    name, caveat, fingerprint = "mine/lyon", "", "lyon 1"

    async def complete(self, request: ew.Request) -> ew.Completion:
        return ew.Completion(text=f"Lyon, not {request.messages[-1].content}")

    async def close(self) -> None:
        pass


def check_example() -> None:
    space: dict[str, Any] = {"my_async_function": my_async_function, "my_model_object": Lyon()}

    exec(EXAMPLE, space)  # noqa: S102 - it is ours

    report: ew.Report = space["report"]
    assert report["capitals"].mean == 1
    assert [(row.model, row.scorer, row.value) for row in report] == [
        ("my_async_function", "mentions_city", 1),
        ("my_async_function", "exact_match", 0),
        ("openai/gpt-4.1-mini", "mentions_city", 1),
        ("openai/gpt-4.1-mini", "exact_match", 1),
        ("mine/lyon", "mentions_city", 0),
        ("mine/lyon", "exact_match", 0),
    ]
    assert list(report.to_pandas()["value"]) == [row.value for row in report]
    assert [outcome.model for outcome in report.samples(wrong=True)] == [
        "mine/lyon",
        "my_async_function",
    ]


@pytest.mark.parametrize("where", ["a script", "a running event loop"])
def test_the_example_of_five_lines_works_as_printed(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def notebook() -> None:
        check_example()

    with ModelServer(chat("Paris")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test-key-of-no-use")
        if where == "a script":
            check_example()
        else:
            asyncio.run(notebook())
        assert len(server.log) == 1


def test_the_readme_has_the_example() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    blocks = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)
    (block,) = [ast.unparse(ast.parse(block)) for block in blocks if "ew.Task" in block]
    _, scorer, run, *uses = ast.parse(EXAMPLE).body
    assert isinstance(run, ast.Assign)
    assert isinstance(run.value, ast.Call)

    # The other models of the example need a key.
    for part in (scorer, run.value.args[0], *uses):
        assert ast.unparse(part) in block


class Elements(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.tags |= {f"{tag} {name}" for name, _ in attrs if name in {"src", "href"}}
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_report_is_a_page_without_scripts_and_a_table_of_a_notebook() -> None:
    def answer(prompt: str) -> str:
        if "Egypt" in prompt:
            raise ValueError("<script>alert('failed')</script>\x1b[31m")
        return "Paris"

    rows = [{"country": "France", "city": "Paris"}, {"country": "Egypt", "city": "القاهرة"}]
    task = ew.Task(
        "<script>alert('عواصم')</script>", rows, prompt="{country}", scorers=["string_equals"]
    )
    report = ew.run(task, [answer, "scripted/echo"], store="memory:")

    for html in (report.to_html(), report._repr_html_()):
        page = Elements(html)
        assert page.tags.isdisjoint({"script", "link", "img", "iframe", "a href"})
        assert {"table", "td", "h2"} <= page.tags
        text = "".join(page.texts)
        assert "<script>alert('failed')</script>" in text
        assert "\x1b" not in html
        assert "1 failed" in text
    assert "default-src 'none'" in report.to_html()
    assert "عواصم" in report.to_html()


def test_a_report_without_results_is_a_page() -> None:
    def fail(prompt: str) -> str:
        raise ValueError(prompt)

    task = ew.Task("t", [{"a": 1}], prompt="{a}", scorers=["latency"])
    report = ew.run(task, fail, store="memory:")

    assert "0 of 1 samples completed" in report.to_html()


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells run one after another in one event loop, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    path = ROOT / "examples" / "notebooks" / "in_python.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    space: dict[str, Any] = {}

    async def run_cells() -> None:
        for number, source in enumerate(sources):
            code = compile(source, f"cell {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            waiting = eval(code, space)  # noqa: S307 - it is ours
            if waiting is not None:
                await waiting

    asyncio.run(run_cells())

    assert (space["row"].value, space["row"].n) == (pytest.approx(2 / 3), 3)
    assert space["wrong"] == ["Italy"]
    assert space["again"].summary.reused == 6
    assert not any(cell.get("outputs") for cell in notebook["cells"])
