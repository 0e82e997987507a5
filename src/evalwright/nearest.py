"""The "did you mean" of every error message: the legal name closest to a misspelt one.

    metrc_name  → metric_name      one letter missing
    Exact-Match → exact_match      case, `-` and spaces do not count
    rogue_l     → rouge_l          two neighbours swapped
    metric      → metric_name      cut short; no other name starts with it
    f1_score    → f1               too long; it starts with no other name
    multiple_choice → nothing      among the categories: a wrong hint is worse than none

It runs for every bad line of a file, so it must cost microseconds.

Does not:   know synonyms, or look at more than the first 2,000 names.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

_MOST_EDITS = 3
_LETTERS_PER_EDIT = 3
_SHORTEST_START = 2
_MOST_CANDIDATES = 2_000
_LONGEST_WORD = 64
"""Longer words are not taken for misspelt names, and are not cached."""


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `word` most likely means; None if none is close.

    Close is one edit for every three letters of the longer word (a last group of two counts),
    three at most. An edit is a letter inserted, dropped or replaced, or two neighbours swapped.
    On a tie, the first.
    """
    if len(word) > _LONGEST_WORD:
        return None
    return _nearest(word, tuple(islice(candidates, _MOST_CANDIDATES)))


def suggest(word: str, candidates: Sequence[str]) -> str:
    """Return the hint "did you mean `name`?"; empty when no candidate is close."""
    name = nearest(word, candidates)
    return f"did you mean `{name}`?" if name else ""


@lru_cache(maxsize=1024)
def _nearest(word: str, candidates: tuple[str, ...]) -> str | None:
    plain, names = _normalize(word), _normalize_all(candidates)
    if plain in names:
        return names[plain]
    return _find_misspelt(plain, names) or _find_start(plain, names)


@lru_cache(maxsize=64)
def _normalize_all(candidates: tuple[str, ...]) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for name in candidates:
        names.setdefault(_normalize(name), name)
    return names


def _normalize(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


def _find_misspelt(word: str, names: Mapping[str, str]) -> str | None:
    from rapidfuzz.distance.OSA import distance

    best, most = None, _MOST_EDITS
    for plain, name in names.items():
        longer = max(len(word), len(plain))
        allowed = min(most, (longer + 1) // _LETTERS_PER_EDIT)
        if (edits := distance(word, plain, score_cutoff=allowed)) <= allowed:
            best, most = name, edits - 1
    return best


def _find_start(word: str, names: Mapping[str, str]) -> str | None:
    """Return the only candidate that starts with the word, or that the word starts with."""
    starts = [
        name
        for plain, name in names.items()
        if min(len(plain), len(word)) >= _SHORTEST_START
        and (plain.startswith(word) or word.startswith(plain))
    ]
    return starts[0] if len(starts) == 1 else None
