"""Open the processes that an author's snippets run in."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from evalwright.plan.options import RunOptions

if TYPE_CHECKING:
    from evalwright.components import Snippet
    from evalwright.snippets.pool import SnippetPool


def open_snippets(
    snippets: "Sequence[Snippet]",
    options: RunOptions,
    *,
    log: Callable[[str], None],
    secrets: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({}),
) -> "SnippetPool | None":
    """Return a pool of processes, started on the first call; None if there are no snippets.

    `secrets` maps the key of a snippet to its placeholders and their values.
    """
    if not snippets:
        return None
    from evalwright.snippets.pool import SnippetPool
    from evalwright.snippets.process import SnippetSettings
    from evalwright.snippets.sources import collect_sources

    return SnippetPool(
        collect_sources(snippets, secrets),
        log=log,
        settings=SnippetSettings(timeout_s=options.snippet_timeout),
    )
