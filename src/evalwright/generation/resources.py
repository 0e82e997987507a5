"""The models and snippets of a generator, with the same wrappers as in a run.

Only this module of the package connects models, starts snippets or uses adapters.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Self, TypeVar

from msgspec import Struct, structs

from evalwright.clients.stand_ins import PlaceholderModel
from evalwright.components import snippets_in
from evalwright.engine.models.base import Counters, ModelWrapper
from evalwright.engine.models.budget import Budget
from evalwright.engine.models.wrap import AdaptiveConcurrency
from evalwright.engine.redact import make_redactor
from evalwright.engine.usage import UsageCounter
from evalwright.errors import ModelError, UsageError
from evalwright.plan.options import RunOptions
from evalwright.plan.project import project_secrets, read_environment
from evalwright.ports import Case, Model, Snippets
from evalwright.secrets import Redactor
from evalwright.session.models import Connection, share_limits, wrap_models
from evalwright.session.progress import Progress
from evalwright.session.project_models import Keyless, connect_model
from evalwright.session.snippets import open_snippets
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.entities import model_key_of
from evalwright.spec.documents.resolve.generations import Generation
from evalwright.spec.documents.resolve.placeholders import find_secrets, reveal_secret
from evalwright.types import NOTHING, Completion, ModelOptions, Request, Sample, Usage

MAX_PARTS = 10_000
"""Maximum number of rows per row of the data source that have their own trial number."""
MAX_ATTEMPTS = 100
"""Maximum number of attempts per row that have their own trial number."""
Result = TypeVar("Result")


class GeneratorRuntime(Struct, frozen=True, kw_only=True):
    """The resources that synthesizers use."""

    models: Mapping[str, Model]
    """Models, by the names that synthesizers use."""
    report_names: Mapping[str, str]
    """Name of each model in reports."""
    snippets: Snippets | None
    redactor: Redactor
    counters: Counters
    budget: Budget | None = None
    workers: int = 1

    def build_case(self, place: int, attempts: int, tally: UsageCounter) -> Case:
        """Return the case for one row of the data source.

        The trial number is unique per row and attempt, so that no other row uses its cache entries.
        """
        models = {
            name: tally.wrap(model, self.report_names[name]) for name, model in self.models.items()
        }
        return Case(
            sample=Sample(str(place), {}),
            model=PlaceholderModel(),
            models=models,
            snippets=self.snippets,
            trial=place * MAX_PARTS * MAX_ATTEMPTS + min(attempts, MAX_ATTEMPTS - 1),
        )


class GeneratorResources:
    """Context manager that connects the models of a generator and prepares its snippets."""

    def __init__(
        self,
        project: Project,
        generation: Generation,
        options: RunOptions,
        *,
        progress: Progress,
        needs_keys: bool = True,
    ) -> None:
        """Without `needs_keys`, models can be identified but not queried."""
        self._project, self._generation, self._options = project, generation, options
        self._progress, self._needs_keys = progress, needs_keys
        self._closing = ExitStack()
        self._environment = read_environment(options.env)
        self._secrets = project_secrets(project, self._environment)
        self._redactor = make_redactor(self._secrets)
        self._snippets: Snippets | None = None
        self.connections: dict[str, Connection] = {}
        self.printed: list[str] = []
        self.notes: list[str] = []
        """Notes about how models were queried."""

    def __enter__(self) -> Self:
        self._snippets = self._create_snippet_pool()
        environment = self._environment if self._needs_keys else Keyless(self._environment)
        options = ModelOptions(environment=environment, tell=self._progress.tell)
        models: Any = {name: entity.document for name, entity in self._project.models.items()}
        adapters: Any = {name: entity.document for name, entity in self._project.adapters.items()}
        for key in self._generation.document.definition.model_keys:
            self.connections[key] = connect_model(
                key, models, adapters, snippets=self._snippets, options=options
            )
        secrets = (secret for plan in self.connections.values() for secret in plan.secrets)
        self._redactor = make_redactor([*self._secrets, *secrets])
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    async def run(
        self,
        work: Callable[[GeneratorRuntime], Awaitable[Result]],
        *,
        use_cache: bool,
        spent: Usage = NOTHING,
    ) -> Result:
        """Call `work` with the models, then close them. `spent` counts toward the budget."""
        counters = Counters()
        shared = share_limits(
            structs.replace(self._options, cache=self._options.cache and use_cache),
            self._closing,
            redactor=self._redactor,
            counters=counters,
            spent=lambda: spent,
        )
        wrapped = wrap_models(self.connections, self._options, shared)
        models: dict[str, Model] = {}
        for key, plan in self.connections.items():
            model = _SchemaFallbackNotice(wrapped[key], plan.name, self._note)
            models[key] = _FirstTrialModel(model) if plan.by_sample else model
        runtime = GeneratorRuntime(
            models=models,
            report_names={key: plan.name for key, plan in self.connections.items()},
            snippets=self._snippets,
            redactor=self._redactor,
            counters=counters,
            budget=shared.budget,
            workers=self._options.concurrency or AdaptiveConcurrency().most,
        )
        try:
            return await work(runtime)
        finally:
            for each in models.values():
                await each.close()
            if self._snippets is not None:
                await self._snippets.close()

    def _create_snippet_pool(self) -> Snippets | None:
        generator, models = self._generation.document, self._project.models
        named = map(model_key_of, generator.definition.model_keys)
        keys = [key for key in named if key in models]
        documents = (generator, *(models[key].document for key in keys))
        snippets = [snippet for document in documents for snippet in snippets_in(document)]
        if not snippets:
            return None
        if self._options.no_snippets:
            raise UsageError(
                f"generator `{generator.key}` contains Python code, which `--no-snippets` "
                f"forbids: {snippets[0].path}:{snippets[0].line}"
            )
        values = {name: reveal_secret(value) for name, value in self._project.secrets.items()}
        secrets = {
            snippet.key: tuple(
                (text, values[name]) for text, name in find_secrets(snippet.text) if name in values
            )
            for snippet in snippets_in(generator)
        }
        return open_snippets(snippets, self._options, log=self._log_line, secrets=secrets)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
            self._progress.tell(f"note: {note}")

    def _log_line(self, line: str) -> None:
        line = self._redactor.clean(line)
        self.printed.append(line)
        self._progress.tell(line)


class _SchemaFallbackNotice(ModelWrapper):
    """Reports that a server rejected a schema and is queried without one."""

    def __init__(self, model: Model, name: str, note: Callable[[str], None]) -> None:
        super().__init__(model)
        self._name, self._note = name, note
        self._rejected: dict[tuple[str, int], str] = {}

    async def complete(self, request: Request) -> Completion:
        try:
            completion = await self._ask(request)
        except ModelError as error:
            if request.input is not None:
                self._rejected[request.sample.id, request.trial] = error.message
            raise
        reason = self._rejected.pop((request.sample.id, request.trial), None)
        if reason is not None and request.input is None:
            self._note(
                f"{self._name} does not accept a schema for its reply ({reason}): "
                "it is queried without structured outputs"
            )
        return completion


class _FirstTrialModel(ModelWrapper):
    """Queries a model that distinguishes rows by sample, so that the trial number must not vary."""

    async def complete(self, request: Request) -> Completion:
        return await self._ask(structs.replace(request, trial=0))
