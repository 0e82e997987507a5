"""Compare the speed of the text metrics with that of commonly used packages.

    python bench/text.py

Thresholds:

    ROUGE-L   200 words per text: the same value as rouge-score, at least 50 times as fast
    BLEU-4    200 words per text: at least twice as fast as the faster of nltk and sacrebleu
    nearest   15 µs for a new typo of one letter, with 14 candidates

Exits with code 1 if a threshold is missed. All measurements are CPU time in one process, from text
to number, in the best of several rounds over the same seeded pairs. The rounds of evalwright and
the other packages alternate, so that all see the same load. BLEU values are not compared, because
each package has its own smoothing.

The other packages are installed into bench/.peers/text on the first run. Without a network, only
evalwright's measurements are printed, and thresholds that need the other packages are not checked.
"""

import json
import random
import string
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PEERS = Path(__file__).parent / ".peers" / "text"
PACKAGES = ("rouge-score", "nltk", "sacrebleu")
PAIRS = 200
WORDS = 200
ROUNDS = 5
NEAREST_BAR_US = 15.0
RATIO_BARS = (
    (50.0, "rouge_l", ("rouge_l, rouge-score",)),
    (2.0, "bleu_4", ("bleu_4, nltk", "bleu_4, sacrebleu")),
)
"""At least so many times as fast, ours, as the fastest of theirs."""

Pair = tuple[str, str]
Times = dict[str, float]
"""Microseconds per call, by the name of the function."""


class Theirs(NamedTuple):
    """Measurements of the other packages."""

    times: Times
    rouge_l: list[float]
    versions: str


class Bar(NamedTuple):
    """A threshold, and whether it was met."""

    held: bool
    text: str


def main() -> int:
    pairs = make_pairs(random.Random(20))
    peers, trouble = peers_python()
    ours: Times = {}
    theirs: Theirs | None = None
    for _ in range(ROUNDS):
        ours = best_of(ours, measure_ours(pairs))
        if peers:
            again = measure_peers(peers, pairs)
            theirs = again._replace(times=best_of(theirs.times if theirs else {}, again.times))
    print(f"{PAIRS} pairs of {WORDS} words, µs of CPU time per call, best of {ROUNDS} rounds")
    print(f"other packages: {theirs.versions if theirs else 'none'}\n")
    for name, value in (ours | (theirs.times if theirs else {})).items():
        print(f"  {name:<40}{value:>10.1f}")
    print()
    bars = own_bars(ours)
    if theirs:
        bars += peer_bars(ours, theirs, pairs)
    for bar in bars:
        print(f"  {'held  ' if bar.held else 'MISSED'}  {bar.text}")
    if trouble:
        print(f"\nNOT CHECKED: thresholds that need the other packages: {trouble}")
    return 0 if all(bar.held for bar in bars) else 1


def own_bars(ours: Times) -> list[Bar]:
    value = ours["nearest, one edit"]
    return [
        Bar(value < NEAREST_BAR_US, f"nearest {value:.1f} µs, threshold {NEAREST_BAR_US:.0f} µs")
    ]


def peer_bars(ours: Times, theirs: Theirs, pairs: Sequence[Pair]) -> list[Bar]:
    from evalwright.text.similarity import rouge_l

    bars = []
    for bar, metric, rivals in RATIO_BARS:
        rival = min(rivals, key=theirs.times.__getitem__)
        ratio = theirs.times[rival] / ours[metric]
        name = rival.removeprefix(f"{metric}, ")
        bars.append(Bar(ratio >= bar, f"{metric} is {ratio:.1f} x {name}, threshold {bar:.0f} x"))
    values = [rouge_l(prediction, [target]) for prediction, target in pairs]
    apart = max(abs(one - other) for one, other in zip(values, theirs.rouge_l, strict=True))
    bars.append(Bar(apart < 1e-9, f"rouge_l differs from rouge-score by {apart:.1g} at most"))
    return bars


def make_pairs(rng: random.Random) -> list[Pair]:
    """Return pairs of texts with realistic word frequencies that differ in three of ten words.

    All words are ASCII, because rouge-score drops everything else.
    """
    vocabulary = [random_word(rng) for _ in range(3000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    pairs = []
    for _ in range(PAIRS):
        target = rng.choices(vocabulary, weights, k=WORDS)
        others = rng.choices(vocabulary, weights, k=WORDS)
        prediction = [
            other if rng.random() < 0.3 else word
            for word, other in zip(target, others, strict=True)
        ]
        pairs.append((" ".join(prediction), " ".join(target)))
    return pairs


def random_word(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9)))


def measure_ours(pairs: Sequence[Pair]) -> Times:
    from evalwright.text.similarity import bleu_4, exact_match, f1, rouge_l, tokens

    return {
        "tokens (one text)": spent(pairs, lambda prediction, _: tokens(prediction)),
        "exact_match": spent(pairs, lambda prediction, target: exact_match(prediction, [target])),
        "f1": spent(pairs, lambda prediction, target: f1(prediction, [target])),
        "rouge_l": spent(pairs, lambda prediction, target: rouge_l(prediction, [target])),
        "bleu_4": spent(pairs, lambda prediction, target: bleu_4(prediction, [target])),
        **measure_nearest(random.Random(21)),
    }


def measure_nearest(rng: random.Random) -> Times:
    from evalwright.nearest import nearest
    from evalwright.vocabulary import FIELDS, METRIC_NAMES

    names = (*FIELDS, *METRIC_NAMES)
    typos = {edits: list({typo(rng, names, edits) for _ in range(5000)}) for edits in (1, 2)}
    # Every word is new to the cache, which holds only the last thousand.
    found = {
        f"nearest, {count} edit{'s' * (edits > 1)}": spent(
            [(word, "") for word in typos[edits]], lambda word, _: nearest(word, names)
        )
        for edits, count in ((1, "one"), (2, "two"))
    }
    words = [(random_word(rng) + random_word(rng), "") for _ in range(5000)]
    return found | {"nearest, unlike any": spent(words, lambda word, _: nearest(word, names))}


def typo(rng: random.Random, names: Sequence[str], edits: int) -> str:
    word = rng.choice(names)
    for _ in range(edits):
        at = rng.randrange(len(word))
        letter = rng.choice(string.ascii_lowercase)
        swapped = word[at + 1 : at + 2] + word[at]
        word = word[:at] + rng.choice(("", letter, letter + word[at], swapped)) + word[at + 1 :]
        word = word or letter
    return word


def measure_peers(python: Path, pairs: Sequence[Pair]) -> Theirs:
    """Run this file in the environment of the other packages."""
    shown = subprocess.run(
        [python, __file__, "--peers"],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=True,
    )
    return Theirs(**json.loads(shown.stdout))


def peers_main() -> int:
    """Measure the other packages in their environment: pairs on stdin, `Theirs` on stdout."""
    import sacrebleu
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from rouge_score.rouge_scorer import RougeScorer

    pairs: list[Pair] = [(prediction, target) for prediction, target in json.load(sys.stdin)]
    rouge = RougeScorer(["rougeL"])
    smooth = SmoothingFunction().method2  # add one, from the second order on
    # nltk takes words, and splitting at spaces is the cheapest way to get them.
    # sacrebleu is measured with its defaults and, for information, without its tokenizer.
    calls: dict[str, Callable[[str, str], object]] = {
        "rouge_l, rouge-score": lambda prediction, target: rouge.score(target, prediction),
        "bleu_4, nltk": lambda prediction, target: sentence_bleu(
            [target.split()], prediction.split(), smoothing_function=smooth
        ),
        "bleu_4, sacrebleu": lambda prediction, target: sacrebleu.sentence_bleu(
            prediction, [target]
        ),
        "bleu_4, sacrebleu without tokenizer": lambda prediction, target: sacrebleu.sentence_bleu(
            prediction, [target], tokenize="none"
        ),
    }
    theirs = Theirs(
        times={name: spent(pairs, call) for name, call in calls.items()},
        rouge_l=[
            rouge.score(target, prediction)["rougeL"].fmeasure for prediction, target in pairs
        ],
        versions=", ".join(f"{package} {version(package)}" for package in PACKAGES),
    )
    print(json.dumps(theirs._asdict()))
    return 0


def peers_python() -> tuple[Path | None, str]:
    """Create the environment of the other packages if needed; return the reason if this fails."""
    python = PEERS / "bin" / "python"
    ready = PEERS / ".ready"
    if ready.exists():
        return python, ""
    print("installing the other packages (once)", file=sys.stderr)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(PEERS)], [*install, *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return None, said[-1] if said else f"exit {done.returncode}"
    ready.touch()
    return python, ""


def spent(pairs: Sequence[Pair], call: Callable[[str, str], object]) -> float:
    """Return the mean CPU time per call in microseconds, over all pairs."""
    call(*pairs[0])  # so that imports and tables built on first use are not measured
    start = time.process_time()
    for prediction, target in pairs:
        call(prediction, target)
    return (time.process_time() - start) / len(pairs) * 1e6


def best_of(one: Times, other: Times) -> Times:
    return {name: min(value, one.get(name, value)) for name, value in other.items()}


if __name__ == "__main__":
    sys.exit(peers_main() if sys.argv[1:] == ["--peers"] else main())
