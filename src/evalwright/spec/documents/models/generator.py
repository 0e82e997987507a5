"""A dataset generator: how rows are generated, and how a dataset uses it.

    key: quiz
    display_name: Quiz questions
    config_spec:
      - { type: model, key: writer, display_name: Writer, usage: synthesizer_model }
    definition:
      type: declarative_dataset_generator # the default
      dataset: { type: dataset_samples, key: topics, random_seed: 7 }
      synthesizers:
        - type: llm
          model_key: "<< config.writer >>"
          user_prompt_template: "Write a question about {{ source.topic }}."
          sample_properties: { question: { type: string } }

    # the dataset
    key: quiz-rows
    display_name: Quiz
    generator_specification:
      dataset_generator_key: quiz
      num_samples: 100
      dataset_generator_config: { writer: openai/gpt-4.1-mini }

The page [Synthesizers](synthesizers.md) describes the keys of each synthesizer.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from evalwright.components import Component, Flag, Hidden, Title, UserKey
from evalwright.datasets.synthesizers.data_sources import AnyDataSource, Count
from evalwright.datasets.synthesizers.synthesizer import AnySynthesizer
from evalwright.spec.documents.models.parameters import AnyParameter


class GeneratorDefinition(Component):
    """The source of the initial rows, and the steps applied to each row."""

    type: Literal["declarative_dataset_generator"] = "declarative_dataset_generator"
    """The kind of definition."""
    dataset: AnyDataSource | None = None
    """Data source of the initial rows."""
    data_source: AnyDataSource | None = None
    """Old name of `dataset`, before version 3.16 of the format."""
    synthesizers: Annotated[list[AnySynthesizer], Field(min_length=1)]
    """Steps applied to each row, in order."""

    @model_validator(mode="after")
    def _check_one_source(self) -> Self:
        if (self.data_source is None) == (self.dataset is None):
            got = "none" if self.dataset is None else "both"
            raise ValueError(f"expected `dataset` (old name: `data_source`), got {got}")
        return self

    @property
    def source(self) -> AnyDataSource:
        """The data source, under its current or old name."""
        source = self.dataset or self.data_source
        if source is None:
            raise ValueError("the definition has no data source")
        return source

    @property
    def uses_earlier_spelling(self) -> bool:
        """Whether the definition uses the old syntax.

        In that case, `num_samples` counts the rows of the data source, and a combination of rows
        has one column per dataset.
        """
        return any(synthesizer.uses_earlier_spelling for synthesizer in self.synthesizers)

    @property
    def model_keys(self) -> tuple[str, ...]:
        """Keys of the models that are called."""
        keys = (key for synthesizer in self.synthesizers for key in synthesizer.model_keys)
        return tuple(dict.fromkeys(keys))


class GeneratorDocument(Component):
    """How rows are generated."""

    key: UserKey
    """Key of the generator."""
    display_name: Title
    """Display name."""
    description: str | None = None
    """Description in one line."""
    long_description: str | None = None
    """Long description in Markdown."""
    tags: tuple[str, ...] = ()
    """Tags for searching."""
    config_spec: list[AnyParameter] = Field(default_factory=list)
    """Parameters. In the definition, `<< config.NAME >>` is replaced by a parameter value."""
    definition: GeneratorDefinition
    """How rows are generated."""
    secrets: dict[str, Hidden] = Field(default_factory=dict)
    """Values for `<< secrets.NAME >>` in the generator's `python` synthesizers and in the project's
    models."""


class GeneratorSpecification(Component):
    """The generator of a dataset, with values for its parameters."""

    dataset_generator_key: UserKey
    """Key of the generator."""
    num_samples: Count | None = None
    """Number of rows to generate. Default: use each row of the data source once."""
    dataset_generator_config: dict[str, Any] = Field(default_factory=dict)
    """Values for the generator's parameters, by key."""
    debug: Flag = False
    """Has no effect: `evalwright dataset test KEY --show-io` shows requests and
    replies."""
