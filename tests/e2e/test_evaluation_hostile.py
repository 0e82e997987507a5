"""Snippets, rows, templates and endpoints that do their worst: each costs its sample, no more."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import (
    ASKED,
    SOLVER,
    of_rows,
    run_file,
    scorer,
    task,
    write_project,
    write_rows,
)
from tests.e2e.test_hostile import measured
from tests.living import ends
from tests.servers import model_server as serve
from tests.servers.model_server import Asked, Behaviour, ModelServer

FINE = "def compute_scores(sample):\n    return {'ok': 1}"
TRICKS = {
    "fine": ("pass", None),
    "raises": ("raise ValueError('\\x1b[31m no\\n')", "ValueError"),
    "says very much": ("raise ValueError('x' * 10_000_000)", "ValueError"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "exits at once": ("os._exit(0)", "crashed"),
    "kills its group": ("os.killpg(0, signal.SIGKILL)", "crashed"),
    "has a fault": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "closes everything": ("os.closerange(0, 1000)", "crashed"),
    "fills the memory": ("bytearray(64 * 2**30)", "MemoryError"),
    "has no end": ("f = lambda: f()\nf()", "RecursionError"),
    "forks": ("os.fork()", None),
    "forks and stays": (
        "pid = os.fork()\nif not pid: time.sleep(1000)\nPath('forked').write_text(str(pid))",
        None,
    ),
    "prints much": ("print('x' * 50_000_000)", None),
    "prints often": ("sys.stdout.write('y\\n' * 5_000_000)", None),
    "returns much": ("return {'ok': 1, 'much': 'x' * 20_000_000}", None),
    "returns too much": ("return {'ok': 1, 'much': 'x' * 300_000_000}", "result"),
    "returns a deep thing": ("x = []\nfor _ in range(10_000): x = [x]\nreturn {'ok': x}", "result"),
    "returns half a pair": ("return {'ok': '\\ud800'}", "result"),
    "returns nothing": ("return None", "ValueError"),
    "returns another thing": ("return os", "result"),
    "returns a huge number": ("return {'huge': 10**400, 'ok': 1}", None),
    "is no number": ("return {'ok': float('nan')}", None),
}


def tricky() -> str:
    """A scorer that does what its row says."""
    lines = [
        "import os, signal, sys, time\nfrom pathlib import Path",
        "def compute_scores(sample):",
    ]
    for name, (body, _) in TRICKS.items():
        lines.append(f"    if sample['trick'] == {name!r}:")
        lines += [f"        {line}" for line in body.split("\n")]
    return "\n".join([*lines, "    return {'ok': 1}"])


def test_each_snippet_that_does_its_worst_costs_its_sample_and_no_other(tmp_path: Path) -> None:
    write_project(tmp_path, tasks__ask=of_rows(tricky()))
    write_rows(tmp_path, ({"trick": name} for name in TRICKS))
    with ModelServer() as server:
        done = evalwright(server, "run", "tasks/ask.yaml", "--json", cwd=tmp_path)

    report = report_of(done, exit_code=3)
    failures = {one.sample["trick"]: one.failure for one in outcomes_in(tmp_path)}
    assert {name: one and one.type for name, one in failures.items()} == {
        name: kind for name, (_, kind) in TRICKS.items()
    }
    for failure in filter(None, failures.values()):
        assert failure.stage == "score"
        assert len(failure.message) < 5000
        assert failure.message.isprintable(), "one line, and nothing that a terminal obeys"
    (row,) = report["metrics"]
    good = sum(kind is None for _, kind in TRICKS.values())
    assert (row["n"], row["failed"]) == (good - 1, len(TRICKS) - good), "all but what is no number"
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 5_000_000, "of what is printed, a part is shown"
    assert ends(int((tmp_path / "forked").read_text()))


TEXTS = {
    "rtl": "مرحبا \u202e بالعالم",
    "emoji": "👩‍👩‍👧 🎉",
    "nul": "a\0b",
    "a/../../b": "a path",
    "two\nlines": "one\r\ntwo",
    "\x1b[31mred\x07": "\x1b]0;title\x07",
    " ": "a space",
    "x" * 5000: "long",
}


def test_any_text_and_any_id_goes_through_and_no_terminal_obeys_it(tmp_path: Path) -> None:
    asks = task(
        SOLVER
        + '  scorers:\n    - {type: string_equals, ground_truth: "{{ sample.question }}"}\n'
        + scorer("def compute_scores(sample, trace):\n    print(sample)\n    return {'ok': 1}")
    )
    write_project(tmp_path, run=run_file(ASKED), tasks__ask=asks)
    write_rows(tmp_path, ({"sample_id": id_, "question": text} for id_, text in TEXTS.items()))

    with ModelServer(serve.chat(lambda asked: asked.prompt)) as server:
        done = evalwright(server, "run", "run.yaml", cwd=tmp_path)
        shown = [
            evalwright(server, *command, "latest", cwd=tmp_path)
            for command in [("report",), ("show",), ("show", "--failed"), ("export",)]
        ]

    assert done.returncode == 0, done.stderr
    for one in (done, *shown):
        assert one.returncode == 0, one.stderr
        assert "\x1b" not in one.stdout + one.stderr
        assert "\x07" not in one.stdout + one.stderr
    outcomes = outcomes_in(tmp_path)
    assert {one.sample_id: one.sample["question"] for one in outcomes} == TEXTS
    assert all(one.scores["string_equals"].correct for one in outcomes)


def test_a_row_may_have_very_many_columns(tmp_path: Path) -> None:
    write_project(tmp_path, tasks__ask=of_rows(FINE))
    write_rows(tmp_path, [{f"c{number}": number for number in range(100_000)}])
    with ModelServer() as server:
        report = report_of(evalwright(server, "run", "tasks/ask.yaml", "--json", cwd=tmp_path))

    assert [row["n"] for row in report["metrics"]] == [1]


def test_ten_times_as_many_rows_take_no_more_memory(tmp_path: Path) -> None:
    write_project(tmp_path, tasks__ask=of_rows(FINE))
    peaks = []
    with ModelServer() as server:
        for count in (1000, 10_000):
            write_rows(tmp_path, ({"text": f"{n} {'x' * 2000}"} for n in range(count)))
            code, megabytes = measured(server, "run", "tasks/ask.yaml", cwd=tmp_path)
            assert code == 0
            peaks.append(megabytes)

    assert peaks[1] - peaks[0] < 10, "of 20 MB of rows"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "no rows", id="no bytes"),
        pytest.param(b"\n \n", "no rows", id="only empty lines"),
        pytest.param(b'{"a": "\\ud800"}\n', "rows.jsonl:1: ", id="half a surrogate pair"),
        pytest.param(b'{"a": 1}\n{"a": 1e999}\n', "rows.jsonl:2: ", id="a number without end"),
        pytest.param(b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "nested", id="depth"),
        pytest.param(b'{"a": "\xe9"}\n', "not UTF-8", id="another encoding"),
        pytest.param('{"a": 1}\n'.encode("utf-16"), "UTF-16", id="a wide encoding"),
        pytest.param(b"\0\0\0\0", "rows.jsonl:1", id="zeros"),
    ],
)
def test_rows_that_cannot_be_read_stop_everything_in_one_line(
    tmp_path: Path, raw: bytes, said: str
) -> None:
    write_project(tmp_path, tasks__ask=of_rows(FINE))
    write_rows(tmp_path, []).write_bytes(raw)
    with ModelServer() as server:
        done = evalwright(server, "run", "tasks/ask.yaml", "--json", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    error = done.stderr.splitlines()[0]
    assert error.startswith("evalwright: ask: datasets/rows.jsonl")
    assert said in error
    assert error.isprintable()
    assert "Traceback" not in done.stderr


EVERY = (
    "  actions:\n    - {key: all, action: exclude_from_metrics, "
    "filter: {op: exists, expression: '{{ sample.question }}'}}\n"
)


@pytest.mark.parametrize(
    ("text", "exit_code", "expected"),
    [
        pytest.param(of_rows(FINE, EVERY), 0, [(None, 0, 0, 3)], id="all are excluded"),
        pytest.param(
            of_rows("def compute_scores(sample):\n    raise ValueError"),
            3,
            [(None, 0, 3, 0)],
            id="all have failed",
        ),
        pytest.param(
            of_rows(
                "def compute_scores(samples):\n    raise SystemExit", kind="python_all_samples"
            ),
            3,
            [(None, 0, 3, 0)],
            id="what looks at all of them has failed",
        ),
        pytest.param(
            task("  evaluated_entity_type: dataset\n  dataset: {key: rows}\n"),
            0,
            [],
            id="nothing looks at them",
        ),
    ],
)
def test_metrics_of_no_sample_have_no_value_and_say_why(
    tmp_path: Path, text: str, exit_code: int, expected: list[Any]
) -> None:
    write_project(tmp_path, tasks__ask=text)
    write_rows(tmp_path, ({"question": f"q{number}"} for number in range(3)))
    with ModelServer() as server:
        done = evalwright(server, "run", "tasks/ask.yaml", "--json", cwd=tmp_path)
        shown = evalwright(server, "report", "latest", cwd=tmp_path)

    metrics = report_of(done, exit_code=exit_code)["metrics"]
    fields = ("value", "n", "failed", "excluded")
    assert [tuple(row[name] for name in fields) for row in metrics] == expected
    assert all(row["reason"] == "there are no scores" for row in metrics)
    assert shown.returncode == 0, shown.stderr


BOMBS = (
    "{% for i in range(9999) %}{% for j in range(9999) %}{{ sample }}{% endfor %}{% endfor %}",
    '{{ "x" * 1000000000 }}',
    "{{ [1] * 1000000000 }}",
    "{{ 10 ** 10000000 }}",
    '{{ "%999999999d" % 1 }}',
    '{{ "{:>999999999}".format(1) }}',
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    '{% set n = namespace(x="x") %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}',
    "{{ ''.__class__.__mro__ }}",
    "{{ sample | attr('__class__') }}",
)


def test_a_template_that_explodes_fails_its_samples_and_no_others(tmp_path: Path) -> None:
    asks = task(
        SOLVER.replace("{{ sample.question }}", "<< config.text >>") + "  scorers: []\n"
    ).replace(
        "definition:", "config_spec: [{type: string, key: text, display_name: T}]\ndefinition:"
    )
    texts = [*BOMBS, "{{ sample.question }}"]
    specifications = [
        ASKED.replace("key: ask,", f"key: t{n},", 1).replace("}", f", task_config: {given}}}")
        for n, given in enumerate(json.dumps({"text": text}) for text in texts)
    ]
    write_project(tmp_path, run=run_file(*specifications), tasks__ask=asks)
    write_rows(tmp_path, [{"question": "q"}])
    with ModelServer() as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=tmp_path)

    report = report_of(done, exit_code=3)
    assert report["summary"]["failed"] == len(BOMBS)
    assert [one.prompt for one in server.log] == ["q"]
    for one in outcomes_in(tmp_path):
        if one.failure:
            assert one.failure.stage == "solver"
            assert len(one.failure.message) < 500


THERE = "key: there\nconfig:\n  url: {url}\n  adapter: {{key: {adapter}}}\n"
ADAPTER = """\
key: own
process_output:
  language: jinja
  source_code: |
    {"choices": [{"message": {"role": "assistant", "content": {{ response.a.b | tojson }} }}]}
"""
GARBAGE: dict[str, Behaviour] = {
    "a page": serve.html(),
    "nothing": serve.body(b""),
    "half of it": serve.body(b'{"choices": [{"mess'),
    "a number": serve.json(4),
    "null": serve.json(None),
    "a list": serve.json([[]]),
    "another thing": serve.json({"answer": 4}),
    "no choices": serve.json({"choices": []}),
    "choices of numbers": serve.json({"choices": [4]}),
    "a message of numbers": serve.json({"choices": [{"message": 4}]}),
    "a text of numbers": serve.json({"choices": [{"message": {"content": {"a": 4}}}]}),
    "no UTF-8": serve.body(b'{"choices": "\xff"}'),
    "half a pair": serve.body(b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    "depth": serve.body(b"[" * 100_000),
    "zeros": serve.body(bytes(1000)),
    "another error": serve.json({"error": {"message": "\x1b[31mno"}}),
}


@pytest.mark.parametrize("adapter", ["latticeflow$openai_chat_completion", "own"])
def test_an_endpoint_that_talks_nonsense_fails_its_samples(tmp_path: Path, adapter: str) -> None:
    async def by_prompt(asked: Asked) -> Any:
        return await GARBAGE[asked.prompt](asked)

    asks = task(f"{SOLVER}  scorers: []\n")
    write_rows(tmp_path, ({"question": name} for name in GARBAGE))
    with ModelServer(by_prompt) as server:
        url = f"{server.url}/chat/completions"
        write_project(
            tmp_path,
            run=run_file("{key: ask, task_key: ask, model_key: there}"),
            tasks__ask=asks,
            models__there=THERE.format(url=url, adapter=adapter),
            model_adapters__own=ADAPTER,
        )
        done = evalwright(server, "run", "run.yaml", "--json", "--retries", "0", cwd=tmp_path)

    report_of(done, exit_code=3)
    outcomes = outcomes_in(tmp_path)
    assert [one.sample["question"] for one in outcomes if not one.failure] == []
    for one in outcomes:
        assert one.failure
        assert one.failure.stage == "solver"
        assert 0 < len(one.failure.message) < 500
        assert one.failure.message.isprintable()
    assert "Traceback" not in done.stderr


def test_a_value_of_a_megabyte_is_a_value(tmp_path: Path) -> None:
    counts = of_rows("def compute_scores(sample):\n    return {'ok': len('<< config.big >>')}")
    write_project(
        tmp_path,
        run=run_file(f"{{key: ask, task_key: ask, task_config: {{big: {'x' * 2**20}}}}}"),
        tasks__ask=counts.replace(
            "definition:", "config_spec: [{type: string, key: big, display_name: B}]\ndefinition:"
        ),
    )
    write_rows(tmp_path, [{"question": "q"}])
    with ModelServer() as server:
        report = report_of(evalwright(server, "run", "run.yaml", "--json", cwd=tmp_path))

    assert [row["value"] for row in report["metrics"]] == [2**20]
