"""What plugin packages import: base classes, and the types that their methods use.

    from evalwright.plugins import Case, Score, ScorerSpec

    class Shortness(ScorerSpec):
        type: Literal["shortness"]

        async def score(self, case: Case) -> Score: ...

A component is one class whose fields are its YAML keys; an entry point registers it. A model is
a function `connect(name, options) -> Model`. See docs/guides/plugins.md.
"""

from evalwright.components import Component, Flag, Location, Snippet
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.source import AnySource, SourceSpec, Surroundings
from evalwright.metrics.base import AnyMetric, FieldMetric, MetricSpec
from evalwright.metrics.scores import Measure, Scores
from evalwright.ports import Case, Model, Snippets
from evalwright.scorers.base import AnyScorer, ScorerSpec, answer_text
from evalwright.solvers.base import AnySolver, SolverSpec
from evalwright.solvers.conversation import Conversation, ModelInput
from evalwright.stats.interval import Interval
from evalwright.templates import Template
from evalwright.types import Completion, Message, ModelOptions, Request, Sample, Score, Trace, Usage

__all__ = [
    "AnyMetric",
    "AnyScorer",
    "AnySolver",
    "AnySource",
    "Case",
    "Completion",
    "Component",
    "Conversation",
    "FieldMetric",
    "Flag",
    "Interval",
    "Location",
    "Measure",
    "Message",
    "MetricSpec",
    "Model",
    "ModelInput",
    "ModelOptions",
    "Reader",
    "Request",
    "Sample",
    "Score",
    "ScorerSpec",
    "Scores",
    "Snippet",
    "Snippets",
    "SolverSpec",
    "SourceSpec",
    "Surroundings",
    "Template",
    "Trace",
    "Usage",
    "answer_text",
    "digest_of",
]
