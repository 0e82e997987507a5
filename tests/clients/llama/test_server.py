"""The process beside the engine: how it begins, fails, dies and ends."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.local_model import needs_local_model

from evalwright.clients.llama.model import Llama
from evalwright.clients.llama.server import LlamaProcess
from evalwright.clients.local import connect
from evalwright.errors import ModelError, Stopped
from evalwright.types import Completion, Message, ModelOptions, Request, Sample

HI = Request(messages=(Message("user", "Hi"),), sample=Sample("s", None))
LONG = Request(messages=HI.messages, sample=HI.sample, input={"ignore_eos": True})
"""An answer that does not end by itself."""


def model_of(name: str = "smollm2", *, said: list[str] | None = None, tokens: int = 2) -> Llama:
    told = {"slots": 2, "context": 256, "threads": 1, "max_tokens": tokens}
    heard = said if said is not None else []
    found = connect(name, ModelOptions(parameters=told, tell=heard.append))
    assert isinstance(found, Llama)
    return found


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """`tmp_path` may be too long for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def pid_of(model: Llama) -> int:
    child = process_of(model)._child
    assert child is not None
    return child.pid


def process_of(model: Llama) -> LlamaProcess:
    assert model._server is not None
    assert model._server.process is not None
    return model._server.process


def kill(model: Llama) -> None:
    os.kill(pid_of(model), signal.SIGKILL)


@needs_local_model
def test_loading_is_told_with_its_size_and_how_it_is_run() -> None:
    said: list[str] = []

    async def run() -> None:
        model = model_of(said=said)
        await asyncio.gather(model.complete(HI), model.complete(HI))
        await model.close()

    asyncio.run(run())

    (line,) = [one for one in said if "loaded" in one]
    assert line.startswith("local/smollm2: 98 MB loaded in ")
    assert line.endswith(", 2 slots, 1 thread")


@needs_local_model
def test_nothing_is_started_before_the_first_question() -> None:
    async def run() -> bool:
        model = model_of()
        started = model._server is not None
        await model.close()
        return started

    assert asyncio.run(run()) is False


@needs_local_model
def test_a_file_that_cannot_be_loaded_is_tried_once_and_stops_the_run_in_the_engines_words(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(2000))

    async def run() -> list[Completion | BaseException]:
        model = model_of(str(broken))
        found = await asyncio.gather(*[model.complete(HI)] * 3, return_exceptions=True)
        await model.close()
        return found

    found = asyncio.run(run())

    (error,) = set(found)
    assert isinstance(error, Stopped)
    assert str(error).startswith(f"local/{broken} could not be loaded: ")
    assert "GGUF" in str(error).partition("loaded: ")[2]
    assert "Traceback" not in str(error)
    assert "is the file complete" in error.hint


@needs_local_model
def test_who_gives_up_while_it_is_loaded_leaves_nothing_behind(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(short_folder))

    def left() -> list[Path]:
        return [*short_folder.iterdir()]

    async def run() -> None:
        model = model_of()
        asked = asyncio.ensure_future(model.complete(HI))
        await asyncio.sleep(0.2)
        assert left(), "it is on its way"
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await model.close()

    asyncio.run(run())

    assert left() == []


@needs_local_model
def test_a_process_that_dies_costs_what_was_in_flight_and_is_started_again() -> None:
    async def run() -> tuple[ModelError, Completion]:
        model = model_of(tokens=200)
        await model.complete(Request(messages=HI.messages, sample=HI.sample, given=("A",)))
        asked = asyncio.ensure_future(model.complete(LONG))
        await asyncio.sleep(0.3)
        kill(model)
        with pytest.raises(ModelError) as caught:
            await asked
        again = await model.complete(
            Request(messages=HI.messages, sample=HI.sample, input={"max_tokens": 2})
        )
        await model.close()
        return caught.value, again

    error, again = asyncio.run(run())

    assert error.kind == "crashed"
    assert "killed by SIGKILL" in str(error)
    assert again.text


@needs_local_model
def test_one_death_counts_once_however_many_are_in_flight() -> None:
    async def run() -> tuple[list[Completion | BaseException], int, Completion]:
        model = model_of(tokens=200)
        await model.complete(Request(messages=HI.messages, sample=HI.sample, given=("A",)))
        asked = [asyncio.ensure_future(model.complete(LONG)) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert model._server is not None
        async with model._server.prompting:  # nobody waits for it any more
            await asyncio.sleep(0.1)
        kill(model)
        found = await asyncio.gather(*asked, return_exceptions=True)
        again = await model.complete(
            Request(messages=HI.messages, sample=HI.sample, input={"max_tokens": 1})
        )
        deaths = model._server.deaths
        await model.close()
        return found, deaths, again

    found, deaths, again = asyncio.run(run())

    assert [isinstance(one, ModelError) and one.kind for one in found] == ["crashed"] * 2
    assert deaths == 1
    assert again.text


@needs_local_model
def test_the_third_death_stops_the_run() -> None:
    async def run() -> None:
        model = model_of(tokens=200)
        try:
            for _ in range(3):
                await model.complete(Request(messages=HI.messages, sample=HI.sample, given=("A",)))
                asked = asyncio.ensure_future(model.complete(LONG))
                await asyncio.sleep(0.3)
                kill(model)
                with pytest.raises(ModelError, match="has died"):
                    await asked
        finally:
            await model.close()

    with pytest.raises(Stopped, match="its process has died 3 times"):
        asyncio.run(run())


@needs_local_model
def test_who_gives_up_leaves_a_free_slot_and_a_server_that_answers() -> None:
    async def run() -> Completion:
        model = model_of(tokens=200)
        asked = [asyncio.ensure_future(model.complete(LONG)) for _ in range(4)]
        await asyncio.sleep(1)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        found = await model.complete(
            Request(messages=HI.messages, sample=HI.sample, input={"max_tokens": 1})
        )
        await model.close()
        return found

    assert asyncio.run(run()).text


ENGINE = """\
import asyncio, sys
from evalwright.clients.local import connect
from evalwright.types import Message, ModelOptions, Request, Sample

async def main():
    model = connect("smollm2", ModelOptions(parameters={"slots": 1, "context": 256, "threads": 1}))
    await model.complete(Request(messages=(), given=("Hi there",), sample=Sample("s", None)))
    print(model._server.process._child.pid, model._server.process.folder, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@needs_local_model
def test_a_process_does_not_outlive_an_engine_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ENGINE], stdout=subprocess.PIPE) as engine:
        assert engine.stdout is not None
        pid, folder = engine.stdout.readline().split()
        engine.kill()
    assert gone(int(pid))
    assert not Path(os.fsdecode(folder)).exists()


def gone(pid: int) -> bool:
    """Whether it ends soon; what is a zombie has ended."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return False


@needs_local_model
def test_the_socket_is_in_a_folder_that_only_this_user_may_enter_and_goes_with_it() -> None:
    async def run(look: Callable[[Path], int]) -> tuple[int, Path]:
        model = model_of()
        await model.complete(HI)
        folder = Path(process_of(model).folder)
        mode = look(folder)
        await model.close()
        return mode, folder

    mode, folder = asyncio.run(run(lambda folder: folder.stat().st_mode & 0o777))

    assert mode == 0o700
    assert not folder.exists()


@needs_local_model
def test_the_process_sees_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-llama")

    async def run(look: Callable[[int], bytes]) -> bytes:
        model = model_of()
        await model.complete(HI)
        seen = look(pid_of(model))
        await model.close()
        return seen

    seen = asyncio.run(run(lambda pid: Path(f"/proc/{pid}/environ").read_bytes()))

    assert b"PATH=" in seen
    assert b"sk-not-for-llama" not in seen
