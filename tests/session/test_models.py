import os

import pytest
from tests.session.made import model

from evalwright.clients.scripted import Scripted
from evalwright.engine.models.wrap import SharedWrapping
from evalwright.errors import UsageError
from evalwright.plan.options import RunOptions
from evalwright.session.models import (
    Connection,
    caveat_notes,
    choose_workers,
    connect_provider,
    wrap_models,
)
from evalwright.types import ModelOptions


@pytest.mark.parametrize("name", ["oracle", "/oracle", "scripted/", ""])
def test_what_is_no_provider_and_model_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=f"`{name}` is not a model"):
        connect_provider(name, ModelOptions())


def test_a_name_becomes_a_client() -> None:
    connection = connect_provider("scripted/oracle", ModelOptions())

    assert isinstance(connection.client, Scripted)
    assert (connection.name, connection.remote, connection.by_sample) == (
        "scripted/oracle",
        False,
        True,
    )


def test_models_with_the_same_caveat_share_a_note() -> None:
    clients = {"a": model(), "b": model(), "c": model(), "d": model()}
    clients["b"].caveat = "recorded outputs"
    clients["d"].caveat = ""

    assert caveat_notes(clients) == (
        "a, c: the answers come from a script that knows the targets, not from a model",
        "b: recorded outputs",
    )


@pytest.mark.parametrize(
    ("names", "needs_sandbox", "concurrency", "expected"),
    [
        pytest.param(["local/x"], True, None, 8, id="two for each slot of a local model"),
        pytest.param(
            ["local/x", "openai/x"], False, None, 64, id="a server takes more than a machine"
        ),
        pytest.param(["openai/x"], False, 3, 3, id="as many as asked for"),
        pytest.param(["openai/x"], False, None, 64, id="as many as a server may take"),
        pytest.param(["scripted/x"], False, None, 64, id="a script takes any number"),
        pytest.param(["openai/x", "scripted/x"], True, None, 64, id="a server is slower than code"),
        pytest.param(
            ["scripted/x"], True, None, 4 * (os.cpu_count() or 1), id="programs of a script"
        ),
    ],
)
def test_there_are_so_many_workers(
    names: list[str], concurrency: int | None, expected: int, *, needs_sandbox: bool
) -> None:
    options = RunOptions(concurrency=concurrency)

    assert choose_workers(names, options, needs_sandbox=needs_sandbox) == expected


def test_a_model_with_more_slots_has_more_workers() -> None:
    assert choose_workers(["local/x"], RunOptions(parameters={"slots": 6})) == 12


def test_a_wrapped_model_keeps_its_fingerprint_and_its_caveat() -> None:
    client = model()
    client.fingerprint = "temperature=0"
    connection = Connection(name="acme/m", client=client)

    wrapped = wrap_models({"acme/m": connection}, RunOptions(), SharedWrapping())["acme/m"]

    assert wrapped is not client
    assert (wrapped.fingerprint, wrapped.caveat) == ("temperature=0", client.caveat)


def test_a_script_is_not_retried() -> None:
    client = model()
    connection = Connection(name="scripted/oracle", client=client, remote=False, by_sample=True)

    wrapped = wrap_models({"scripted/oracle": connection}, RunOptions(), SharedWrapping())

    assert wrapped == {"scripted/oracle": client}
