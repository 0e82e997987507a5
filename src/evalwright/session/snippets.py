"""Open the processes that an author's snippets run in."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evalwright.plan.options import RunOptions

if TYPE_CHECKING:
    from evalwright.components import Snippet
    from evalwright.snippets.pool import SnippetPool


def open_snippets(
    snippets: "Sequence[Snippet]", options: RunOptions, *, log: Callable[[str], None]
) -> "SnippetPool | None":
    """Return a pool of processes, started on the first call; None if there are no snippets."""
    if not snippets:
        return None
    from evalwright.snippets.pool import SnippetPool
    from evalwright.snippets.process import SnippetSettings
    from evalwright.snippets.sources import sources_of

    return SnippetPool(
        sources_of(snippets), log=log, settings=SnippetSettings(timeout_s=options.snippet_timeout)
    )
