"""Which datasets are generated, by which generator, with which values, from which datasets.

    generations.of("quiz-rows")        Generation(dataset="quiz-rows", document=…, num_samples=100)
    generations.order(["quiz-rows"])   ["topics", "quiz-rows"]: what is needed first comes first

A dataset that would be generated from itself, directly or not, is an error.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from evalwright.spec.documents.models.dataset import DatasetDocument
from evalwright.spec.documents.models.generator import GeneratorDocument, GeneratorSpecification
from evalwright.spec.documents.resolve.config_values import (
    GivenValue,
    problem_with_value,
)
from evalwright.spec.documents.resolve.documents import DocumentPart
from evalwright.spec.documents.resolve.entities import Entity, References
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place
from evalwright.types import Issue

_SPECIFICATION = "generator_specification"
_GENERATOR: FieldPath = (_SPECIFICATION, "dataset_generator_key")
_CONFIG: FieldPath = (_SPECIFICATION, "dataset_generator_config")
_NAMED: Mapping[str, DocumentKind] = {"model": "model", "dataset": "dataset"}
"""The parameters whose values are keys of entities."""


class Generation(Struct, frozen=True, kw_only=True):
    """How the rows of one dataset are made."""

    dataset: str
    document: GeneratorDocument
    """With its values in it."""
    num_samples: int | None = None

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """The datasets that it is made of."""
        return self.document.definition.source.dataset_keys


class Generations:
    """The generated datasets of a project."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._known: dict[str, tuple[Entity, tuple[Generation | None, list[Issue]]]] = {}
        """What was found, by dataset: a chain of them asks for the same ones again and again."""

    def of(self, key: str) -> Generation | None:
        """How the rows of a dataset are made; None if they are not, or if that is not right."""
        entity = self._references.entities["dataset"].get(key)
        return self._found(entity)[0] if entity is not None else None

    def order(self, keys: Iterable[str]) -> list[str]:
        """Those of these that are made, and those that they are made of: what is needed first."""
        ordered: dict[str, None] = {}

        def put(key: str, above: tuple[str, ...]) -> None:
            made = self.of(key) if key not in ordered and key not in above else None
            if made is None:
                return
            for one in made.dataset_keys:
                put(one, (*above, key))
            ordered[key] = None

        for key in keys:
            put(key, ())
        return list(ordered)

    def problems(self, entity: Entity) -> Iterator[Issue]:
        """What is wrong with how the rows of a dataset are made, and with what they are made of."""
        return self._problems(entity, (), set())

    def _problems(self, entity: Entity, above: Sequence[str], seen: set[str]) -> Iterator[Issue]:
        """Each dataset is looked at once, over however many ways it is reached."""
        seen.add(entity.key)
        made, problems = self._found(entity)
        yield from problems
        if made is None:
            return
        line = [*above, entity.key]
        for key in made.dataset_keys:
            other = self._references.entities["dataset"].get(key)
            if key in line:
                yield from entity.part.problems([_in_a_circle([*line[line.index(key) :], key])])
            elif other is not None and key not in seen:
                yield from (*other.part.raw.problems, *other.problems)
                yield from self._problems(other, line, seen)

    def named_by(self, entity: Entity) -> list[Issue]:
        """The models and datasets that a generator names, and that are not there."""
        return self._unknown(entity, entity.document, ())

    def _found(self, entity: Entity) -> tuple[Generation | None, list[Issue]]:
        known = self._known.get(entity.key)
        if known is None or known[0] is not entity:
            known = self._known[entity.key] = entity, self._find(entity)
        return known[1]

    def _find(self, entity: Entity) -> tuple[Generation | None, list[Issue]]:
        document = entity.document
        told = document.generator_specification if isinstance(document, DatasetDocument) else None
        if told is None:
            return None, []
        fault = self._references.missing("generator", told.dataset_generator_key, _GENERATOR)
        problems = entity.part.problems([fault]) if fault else []
        generator = self._references.entities["generator"].get(told.dataset_generator_key)
        if generator is None:
            return None, problems
        given = _given(entity, told)
        resolved = generator.resolve_generator(given, missing_at=partial(_missing, entity.part))
        problems += [*generator.part.raw.problems, *resolved.problems]
        problems += self._named_by_values(generator, given)
        said = tuple(str(one.value) for one in given.values())
        problems += self._unknown(generator, resolved.document, said)
        if resolved.document is None or any(one.level == "error" for one in problems):
            return None, problems
        made = Generation(
            dataset=entity.key, document=resolved.document, num_samples=told.num_samples
        )
        return made, [*problems, *_endless(entity, made)]

    def _named_by_values(self, generator: Entity, given: dict[str, GivenValue]) -> Iterator[Issue]:
        for one in generator.parameters:
            kind = _NAMED.get(getattr(one, "type", ""))
            value = given[one.key].value if one.key in given else None
            if kind is not None and isinstance(value, str):
                fault = self._references.missing(kind, value, ())
                yield from [problem_with_value(given[one.key], fault)] if fault else ()

    def _unknown(
        self, generator: Entity, document: GeneratorDocument | None, said: Sequence[str]
    ) -> list[Issue]:
        """What a definition names; what a value named is the value's fault."""
        faults: list[Fault] = []
        for kind, key, path in _names(document) if document is not None else ():
            fault = self._references.missing(kind, key, path) if key not in said else None
            faults += [fault] if fault else []
        return generator.part.problems(faults)


def _names(document: GeneratorDocument) -> Iterator[tuple[DocumentKind, str, FieldPath]]:
    definition = document.definition
    name = "dataset" if definition.data_source is None else "data_source"
    several = len(definition.source.dataset_keys) > 1
    for key in definition.source.dataset_keys:
        yield "dataset", key, ("definition", name, "keys" if several else "key")
    for number, one in enumerate(definition.synthesizers):
        for key in one.model_keys:
            yield "model", key, ("definition", "synthesizers", number, "model_key")


def _given(entity: Entity, told: GeneratorSpecification) -> dict[str, GivenValue]:
    part, marks = entity.part, entity.part.raw.marks
    return {
        str(name): GivenValue(
            value,
            marks.place((*_CONFIG, name)),
            part.field((*_CONFIG, name)),
            key_place=marks.key_place((*_CONFIG, name)),
        )
        for name, value in told.dataset_generator_config.items()
    }


def _missing(part: DocumentPart, name: str) -> tuple[Place, str]:
    """Where the value of a parameter is missed: in the dataset that asks for the rows."""
    del name
    path = _CONFIG if part.raw.marks.has(_CONFIG) else (_SPECIFICATION,)
    return part.raw.marks.place(path), part.field(path)


def _endless(entity: Entity, made: Generation) -> list[Issue]:
    """An empty source that nobody tells how many rows are wanted."""
    source = made.document.definition.source
    if source.type != "empty" or made.num_samples or source.num_samples:
        return []
    detail = "an `empty` data source does not know how many rows are wanted"
    fault = Fault((_SPECIFICATION,), "missing_key", detail, "write `num_samples` here")
    return entity.part.problems([fault])


def _in_a_circle(line: list[str]) -> Fault:
    way = ", which is made of ".join(f"`{one}`" for one in line)
    return Fault((_SPECIFICATION,), "circle", f"a dataset cannot be made of itself: {way}")
