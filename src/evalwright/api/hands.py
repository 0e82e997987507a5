"""The models and the snippets that a generator makes rows with, as the engine would have them."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from evalwright.api.assembly import Limits, canonical, equipped, shared_by
from evalwright.api.discretion import redactor_here
from evalwright.api.making import Crew
from evalwright.api.options import RunOptions, Watch
from evalwright.api.prepare import secrets_of
from evalwright.components import snippets_in
from evalwright.engine.models.around import Around
from evalwright.errors import ModelError, UsageError
from evalwright.ports import Model
from evalwright.secrets import Secret
from evalwright.types import NOTHING, Completion, Message, ModelOptions, Request, Usage

if TYPE_CHECKING:
    from evalwright.api.connections import ConnectionPlan
    from evalwright.snippets.pool import SnippetPool
    from evalwright.spec.documents.generations import Generation
    from evalwright.spec.documents.project import Project


class Hands:
    """The models and snippets of one generator; closed when it is left."""

    def __init__(
        self,
        project: "Project",
        made: "Generation",
        options: RunOptions,
        environment: Mapping[str, str],
        watch: Watch,
    ) -> None:
        self._project, self._made, self._options = project, made, options
        self._environment, self._watch = environment, watch
        self._ending = ExitStack()
        self.printed: list[str] = []
        self.notes: list[str] = []
        """What a reader must know of how models were asked."""
        self.plans: dict[str, ConnectionPlan] = {}
        self.snippets: SnippetPool | None = None
        self._redactor = redactor_here(self._secrets())

    def __enter__(self) -> Self:
        self.snippets = self._pool()
        keys = self._made.document.definition.model_keys
        self.plans = {key: self._connected(key) for key in keys}
        told = [one for plan in self.plans.values() for one in plan.secrets]
        self._redactor = redactor_here([*self._secrets(), *told])
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    async def lent(
        self, work: Callable[[Crew], Any], *, cache: bool, spent: Usage = NOTHING
    ) -> Any:
        """What the work returns, done with these hands; they are of no use afterwards.

        `spent` is what was spent before under the same cap.
        """
        from msgspec import structs

        from evalwright.engine.models.count import Counters
        from evalwright.engine.models.stack import Adaptive
        from evalwright.engine.run import Crew as Models

        limits = {
            name: Limits(
                name=plan.name,
                requests_per_minute=plan.requests_per_minute,
                at_once=plan.at_once,
                remote=plan.remote,
                by_sample=plan.by_sample,
            )
            for name, plan in self.plans.items()
        }
        bare = Models(models={name: one.client for name, one in self.plans.items()}, teams={})
        counters = Counters()
        shared = shared_by(
            structs.replace(self._options, cache=self._options.cache and cache),
            self._ending,
            redactor=self._redactor,
            counters=counters,
            spent=lambda: spent,
        )
        ready = equipped(bare, self._options, shared, limits=limits).models
        models = {
            name: _Frank(model, self.plans[name].name, self._told) for name, model in ready.items()
        }
        crew = Crew(
            models=models,
            called={name: one.name for name, one in self.plans.items()},
            by_sample=frozenset(name for name, one in self.plans.items() if one.by_sample),
            snippets=self.snippets,
            redactor=self._redactor,
            counters=counters,
            budget=shared.budget,
            workers=self._options.concurrency or Adaptive().most,
        )
        try:
            return await work(crew)
        finally:
            for model in models.values():
                await model.close()
            if self.snippets is not None:
                await self.snippets.close()

    def _pool(self) -> "SnippetPool | None":
        """No process is started before one is called."""
        from evalwright.snippets.pool import SnippetPool
        from evalwright.snippets.settings import Settings
        from evalwright.snippets.sources import sources_of

        named = self._made.document.definition.model_keys
        models = [
            self._project.models[key].document for key in named if key in self._project.models
        ]
        found = [one for thing in (self._made.document, *models) for one in snippets_in(thing)]
        if not found:
            return None
        if self._options.no_snippets:
            raise UsageError(
                f"generator `{self._made.document.key}` brings Python of its own, and "
                f"`--no-snippets` refuses it: {found[0].path}:{found[0].line}"
            )
        settings = Settings(timeout_s=self._options.snippet_timeout)
        return SnippetPool(sources_of(found), log=self._heard, settings=settings)

    def _told(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
            self._watch.tell(f"note: {note}")

    def _heard(self, line: str) -> None:
        said = self._redactor.clean(line)
        self.printed.append(said)
        self._watch.tell(said)

    def _connected(self, key: str) -> "ConnectionPlan":
        from evalwright.api.connections import connect_model

        declared: Any = {name: one.document for name, one in self._project.models.items()}
        adapters: Any = {name: one.document for name, one in self._project.adapters.items()}
        return connect_model(
            canonical([key])[0] if "/" in key or ":" in key else key,
            declared,
            adapters,
            snippets=self.snippets,
            options=ModelOptions(environment=self._environment, tell=self._watch.tell),
        )

    def _secrets(self) -> list[Secret]:
        """Of the project, and of the files with variables."""
        return list(secrets_of(self._project, self._options))


class _Frank(Around):
    """Says so where a server took no schema for its replies, and was asked without."""

    def __init__(self, model: Model, name: str, tell: Callable[[str], None]) -> None:
        super().__init__(model)
        self._name, self._tell = name, tell
        self._refused: dict[tuple[Message, ...], str] = {}

    async def complete(self, request: Request) -> Completion:
        """Answer."""
        try:
            found = await self._ask(request)
        except ModelError as error:
            if request.input is not None:
                self._refused[request.messages] = str(error)
            raise
        why = self._refused.pop(request.messages, None)
        if why is not None and request.input is None:
            self._tell(
                f"{self._name} takes no schema for its reply ({why}): "
                "it is asked without structured outputs"
            )
        return found
