"""Scores and metrics as snippets see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .model import JsonModel, LFBaseModel


class ModelEndpointInput(JsonModel):
    """The body of a request."""

    body: str


class ModelEndpointOutput(JsonModel):
    """The reply to a request."""

    body: str
    status_code: int
    headers: dict[str, str] | None = None


class DirectModelIO(JsonModel):
    """A request as it was sent, and its reply.

    Only successful requests are stored. Older runs have the bodies as `input` and `output`.
    """

    direct_input: ModelEndpointInput
    direct_output: ModelEndpointOutput

    def __missing__(self, name: str) -> Any:
        if name == "direct_input" and "input" in self:
            return ModelEndpointInput.from_json({"body": self["input"]})
        if name == "direct_output" and "output" in self:
            return ModelEndpointOutput.from_json({"body": self["output"], "status_code": 200})
        return super().__missing__(name)


class SampleScore(LFBaseModel):
    """The scores of one scorer for one sample: what a metric of an author is given."""

    values: dict[str, Any]
    metadata: dict[str, Any] | None = None
    direct_ios: list[DirectModelIO] = []


class SystemTaskMetricEntry(LFBaseModel):
    """One metric of a system task, and the reason for it."""

    value: float | int | None
    reason: str | None = None


class SystemTaskOutput(LFBaseModel):
    """What `compute_evidence` may return."""

    metrics: dict[str, SystemTaskMetricEntry]


JSONType = None | int | str | bool | float | list[Any] | Mapping[str, Any]
RawSample = LFSample = ScoreValues = ScoreMetadata = dict[str, Any]
RawSampleMapping = dict[str, dict[str, Any]]
RawSamplesMapping = dict[str, list[dict[str, Any]]]
SampleErrors = dict[int, Exception]
MetricValues = dict[str, int | float]
