"""How surprised models are by a text: `ew.perplexity("corpus.jsonl", models=["local/smollm2"])`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from evalwright.errors import UsageError
from evalwright.nearest import suggest
from evalwright.perplexity.measure import measure_perplexity
from evalwright.perplexity.report import PerplexityReport
from evalwright.plan.options import parse_options
from evalwright.session.progress import Progress, SilentProgress

_OPTIONS = (
    *("limit", "concurrency", "parameters", "cache", "seed", "retries", "max_failures"),
    *("requests_per_minute", "tokens_per_minute", "max_cost", "max_tokens_total", "prices"),
)
"""The fields of `RunOptions` that apply here."""


def perplexity(
    path: str | Path | Sequence[str | Path],
    models: str | Sequence[str] = (),
    *,
    field: str | None = None,
    split: Literal["paragraphs", "lines"] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> PerplexityReport:
    """Measure how well each model predicts each document.

    A `.jsonl` file has one document per line, in the field named by `field` (default: `text`). Any
    other file is one document, or several if `split` is given. The options are the fields of
    `evalwright.plan.options.RunOptions` that do not concern tasks or runs: `limit`, `concurrency`,
    `parameters`, `seed`, `cache` and so on. Unless `cache` is false, likelihoods are cached and
    never computed again. Invalid files, models or options raise an exception before the first call.
    """
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(f"`perplexity` has no option `{name}`", hint=suggest(name, _OPTIONS))
    if split not in {None, "paragraphs", "lines"}:
        raise UsageError(f"`split`: expected `paragraphs` or `lines`, got `{split}`")
    paths = [path] if isinstance(path, str | Path) else path
    return measure_perplexity(
        [str(file) for file in paths],
        models,
        parse_options({"cache": True, **options}),
        field=field,
        split=split,
        progress=progress or SilentProgress(),
    )
