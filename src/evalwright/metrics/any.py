"""Every metric that a task document may name, told apart by its `type`."""

from typing import Annotated

from pydantic import Field

from evalwright.metrics.binary_classification import BinaryClassification
from evalwright.metrics.f1_score import F1Score
from evalwright.metrics.frequency import Frequency
from evalwright.metrics.max import Max
from evalwright.metrics.mean import Mean
from evalwright.metrics.min import Min
from evalwright.metrics.multiclass_classification import MulticlassClassification
from evalwright.metrics.precision import Precision
from evalwright.metrics.python import Python
from evalwright.metrics.recall import Recall
from evalwright.metrics.std_dev import StdDev
from evalwright.metrics.weighted_average import WeightedAverage

AnyMetric = Annotated[
    Python
    | BinaryClassification
    | MulticlassClassification
    | Mean
    | Max
    | Min
    | StdDev
    | Frequency
    | Recall
    | Precision
    | F1Score
    | WeightedAverage,
    Field(discriminator="type"),
]
"""One metric of a scorer."""
