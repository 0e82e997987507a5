"""How surprised models are by a text: `ew.perplexity("corpus.jsonl", models=["local/smollm2"])`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalwright.api.options import Unwatched, options_of
from evalwright.errors import UsageError
from evalwright.nearest import nearest

if TYPE_CHECKING:
    from evalwright.api.options import Watch
    from evalwright.report.perplexity import PerplexityReport

_OPTIONS = (
    *("limit", "concurrency", "parameters", "cache", "seed", "retries", "max_failures"),
    *("requests_per_minute", "tokens_per_minute", "max_cost", "max_tokens_total", "prices"),
)
"""Those of `RunOptions` that mean something here."""


def perplexity(
    path: str | Path | Sequence[str | Path],
    models: str | Sequence[str] = (),
    *,
    field: str | None = None,
    split: Literal["paragraphs", "lines"] | None = None,
    watch: "Watch | None" = None,
    **options: Any,
) -> "PerplexityReport":
    """Weigh every document with every model.

    A `.jsonl` file has a document a line, in its `field` (without one, `text`); any other file is
    one document, or several by `split`. The options are those of `RunOptions` that are not about
    tasks or runs: `limit`, `concurrency`, `parameters`, `seed`, `cache` and so on. What is weighed
    is kept in the cache, unless `cache` is false, and never weighed again.
    Raises before the first call for whatever is wrong with files, models or options.
    """
    from evalwright.api.weighing import Weighing

    for name in options:
        if name not in _OPTIONS:
            close = nearest(name, _OPTIONS)
            raise UsageError(
                f"`perplexity` has no option `{name}`",
                hint=f"did you mean `{close}`?" if close else "",
            )
    if split not in {None, "paragraphs", "lines"}:
        raise UsageError(f"`split`: expected `paragraphs` or `lines`, got `{split}`")
    told = options_of({"cache": True, **options})
    paths = [str(path)] if isinstance(path, str | Path) else [str(one) for one in path]
    work = Weighing(models, told, watch=watch or Unwatched())
    return work.report(paths, field=field, split=split)
