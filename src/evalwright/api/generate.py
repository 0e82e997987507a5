"""Make the rows of a dataset that names a generator, before a run needs them."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from evalwright.api.options import Unwatched, options_of
from evalwright.errors import UsageError

if TYPE_CHECKING:
    from evalwright.api.options import Watch
    from evalwright.report.generated import Generated


def generate(
    name: str,
    *,
    project: str = ".",
    again: bool = False,
    watch: "Watch | None" = None,
    **options: Any,
) -> "list[Generated]":
    """Make the rows of a dataset, and of those that it is made of; the options are `RunOptions`.

    `again` makes those of this dataset anew, though they are there.
    """
    from evalwright.api.entities import find_entity, open_project
    from evalwright.api.generating import Maker, lazy_store
    from evalwright.api.prepare import refuse

    told = options_of(options)
    opened = open_project(project, told.env)
    entity = find_entity(opened, "dataset", name)
    generations = opened.generations
    problems = [*entity.part.raw.problems, *entity.problems, *generations.problems(entity)]
    refuse(entity.file, problems)
    if generations.of(name) is None:
        raise UsageError(
            f"the rows of dataset `{name}` are not made by a generator",
            hint=f"`evalwright dataset test {name}` shows them",
        )
    with ExitStack() as ending:
        maker = Maker(opened, told, store=lazy_store(ending), watch=watch or Unwatched())
        for key in generations.order([name]):
            maker.make(key, again=again and key == name)
        return maker.done
