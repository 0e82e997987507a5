"""A dataset generator: how rows are made, and how a dataset asks for them.

    key: quiz
    display_name: Quiz questions
    config_spec:
      - { type: model, key: writer, display_name: Who writes, usage: synthesizer_model }
    definition:
      data_source: { type: dataset_samples, key: topics, random_seed: 7 }
      synthesizers:
        - type: llm
          model_key: "<< config.writer >>"
          user_prompt: "Write a question about {{ sample.topic }}."
          output_column: question

    # the dataset
    key: quiz-rows
    display_name: Quiz
    generator_specification:
      dataset_generator_key: quiz
      num_samples: 100
      dataset_generator_config: { writer: openai/gpt-4.1-mini }

What a synthesizer may say stands in its own module: `datasets/synthesizers/llm.py` and its
neighbours.
"""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from evalwright.components import Component, Title, UserKey
from evalwright.datasets.synthesizers.data_sources import AnyDataSource, Count
from evalwright.datasets.synthesizers.synthesizer import AnySynthesizer
from evalwright.spec.documents.models.model import Hidden
from evalwright.spec.documents.models.parameters import AnyParameter


class GeneratorDefinition(Component):
    """Where rows come from, and what is done to each."""

    data_source: AnyDataSource | None = None
    """The rows that are begun with."""
    dataset: AnyDataSource | None = None
    """The same by its other name."""
    synthesizers: Annotated[list[AnySynthesizer], Field(min_length=1)]
    """What is done to each row, one after another."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.data_source is None) == (self.dataset is None):
            got = "none" if self.dataset is None else "both"
            raise ValueError(
                f"expected a `data_source`, or by its other name a `dataset`, got {got}"
            )
        return self

    @property
    def source(self) -> AnyDataSource:
        """The rows that are begun with, by either name."""
        source = self.data_source or self.dataset
        if source is None:
            raise ValueError("a definition has a data source")
        return source

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that are asked."""
        keys = (key for synthesizer in self.synthesizers for key in synthesizer.model_keys)
        return tuple(dict.fromkeys(keys))


class GeneratorDocument(Component):
    """How rows are made."""

    key: UserKey
    """What datasets call it."""
    display_name: Title
    """What people call it."""
    description: str | None = None
    """What it makes, in a line."""
    long_description: str | None = None
    """The same at length, in Markdown."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Its parameters; `<< config.NAME >>` in the definition stands for the value of one."""
    definition: GeneratorDefinition
    """How rows are made."""
    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """What `<< secrets.NAME >>` stands for, in the models of the project."""


class GeneratorSpecification(Component):
    """Which generator makes the rows of a dataset, and how many."""

    dataset_generator_key: UserKey
    """The generator."""
    num_samples: Count | None = None
    """How many rows of its data source are used. Without it, each once."""
    dataset_generator_config: dict[str, Any] = Field(default_factory=dict)
    """The values of the generator's parameters, by their keys."""
