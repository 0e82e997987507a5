"""The generated datasets of a project, with their generators, values and dependencies.

    generations.of("quiz-rows")        Generation(dataset="quiz-rows", document=…, num_samples=100)
    generations.order(["quiz-rows"])   ["topics", "quiz-rows"]: dependencies come first

A dataset that is generated from itself, directly or indirectly, is an error.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.resolve.config_values import read_given_values
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place
from evalwright.types import Issue

_SPECIFICATION = "generator_specification"
_GENERATOR: FieldPath = (_SPECIFICATION, "dataset_generator_key")
_CONFIG: FieldPath = (_SPECIFICATION, "dataset_generator_config")


class Generation(Struct, frozen=True, kw_only=True):
    """The generation of a dataset's rows."""

    dataset: str
    document: GeneratorDocument
    """Generator with the values of its parameters."""
    num_samples: int | None = None
    """Number of rows to generate; None to use each row of the data source once."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """Keys of the datasets that the dataset is generated from."""
        return self.document.definition.source.dataset_keys

    @property
    def counts_source_rows(self) -> bool:
        """Whether `num_samples` counts rows of the data source, as in the old syntax."""
        return self.document.definition.uses_earlier_spelling


class Generations:
    """The generated datasets of a project."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._resolved: dict[Entity, tuple[Generation | None, list[Issue]]] = {}
        """Cache, because chains of datasets need the same generations repeatedly."""

    def of(self, key: str) -> Generation | None:
        """Return the generation of a dataset; None if it is not generated or has errors."""
        entity = self._references.entities["dataset"].get(key)
        return self._resolve(entity)[0] if entity is not None else None

    def order(self, keys: Iterable[str]) -> list[str]:
        """Return the generated datasets among these and their dependencies, dependencies first."""
        ordered: dict[str, None] = {}

        def visit(key: str, above: tuple[str, ...]) -> None:
            generation = self.of(key) if key not in ordered and key not in above else None
            if generation is not None:
                for needed in generation.dataset_keys:
                    visit(needed, (*above, key))
                ordered[key] = None

        for key in keys:
            visit(key, ())
        return list(ordered)

    def problems(self, entity: Entity) -> Iterator[Issue]:
        """Yield the problems of generating a dataset and the datasets that it depends on."""
        return self._problems(entity, (), set())

    def _problems(self, entity: Entity, above: Sequence[str], seen: set[str]) -> Iterator[Issue]:
        seen.add(entity.key)
        generation, problems = self._resolve(entity)
        yield from problems
        line = [*above, entity.key]
        for key in generation.dataset_keys if generation is not None else ():
            other = self._references.entities["dataset"].get(key)
            if key in line:
                circle = ", generated from ".join(f"`{name}`" for name in line[line.index(key) :])
                detail = (
                    f"a dataset cannot be generated from itself: {circle}, generated from `{key}`"
                )
                yield from entity.part.problems([Fault((_SPECIFICATION,), "circle", detail)])
            elif other is not None and key not in seen:
                yield from (*other.part.raw.problems, *other.problems)
                yield from self._problems(other, line, seen)

    def check_names(
        self, generator: Entity, document: GeneratorDocument | None, given: Sequence[str] = ()
    ) -> list[Issue]:
        """Check that the models and datasets in a generator exist.

        Names in `given` values are reported elsewhere.
        """
        faults = (
            self._references.missing(kind, key, path)
            for kind, key, path in (_list_names(document) if document is not None else ())
            if key not in given
        )
        return generator.part.problems(fault for fault in faults if fault is not None)

    def _resolve(self, entity: Entity) -> tuple[Generation | None, list[Issue]]:
        if entity not in self._resolved:
            self._resolved[entity] = self._resolve_generator(entity)
        return self._resolved[entity]

    def _resolve_generator(self, entity: Entity) -> tuple[Generation | None, list[Issue]]:
        document, part = entity.document, entity.part
        spec = document.generator_specification if isinstance(document, DatasetDocument) else None
        if spec is None:
            return None, []
        fault = self._references.missing("generator", spec.dataset_generator_key, _GENERATOR)
        problems = part.problems([fault]) if fault else []
        generator = self._references.entities["generator"].get(spec.dataset_generator_key)
        if generator is None:
            return None, problems
        values = read_given_values(part, _CONFIG, spec.dataset_generator_config)

        def missing_at(_: str) -> tuple[Place, str]:
            path = _CONFIG if part.raw.marks.has(_CONFIG) else (_SPECIFICATION,)
            return part.place(path), part.field(path)

        resolved = generator.resolve(values, missing_at=missing_at)
        problems += [*generator.part.raw.problems, *resolved.problems]
        problems += self._references.check_values(resolved, values)
        names = [str(value.value) for value in values.values()]
        problems += self.check_names(generator, resolved.document, names)
        if resolved.document is None or any(problem.level == "error" for problem in problems):
            return None, problems
        return Generation(
            dataset=entity.key, document=resolved.document, num_samples=spec.num_samples
        ), problems


def _list_names(document: GeneratorDocument) -> Iterator[tuple[DocumentKind, str, FieldPath]]:
    definition = document.definition
    name = "dataset" if definition.data_source is None else "data_source"
    several = definition.source.type == "dataset_sample_combinations"
    for key in definition.source.dataset_keys:
        yield "dataset", key, ("definition", name, "keys" if several else "key")
    for number, synthesizer in enumerate(definition.synthesizers):
        for key in synthesizer.model_keys:
            yield "model", key, ("definition", "synthesizers", number, "model_key")
