"""What a report says of calibration: a row a model. How it is computed is in `calibration`."""

from msgspec import Struct

from evalwright.stats.calibration import Bin


class CalibrationFigures(Struct, frozen=True, kw_only=True):
    """ECE and Brier score of some answers, with their 95 % intervals."""

    ece: float
    ece_low: float
    ece_high: float
    brier: float
    brier_low: float
    brier_high: float


class ScaledRow(Struct, frozen=True, kw_only=True):
    """What one temperature makes of a model's confidences: fitted on a half, judged on the other.

    The figures are null where nothing could be fitted.
    """

    reason: str
    """Why there is no temperature, or why it is to be distrusted; else empty."""
    fitted_on: int
    """Answers that the temperature was fitted on; those of a record are all in one half."""
    n: int
    """Answers that were held out, and that all figures here are over."""
    temperature: float | None = None
    """Above 1: the model was too sure."""
    temperature_low: float | None = None
    temperature_high: float | None = None
    raw: CalibrationFigures | None = None
    """Of the confidences as they were."""
    scaled: CalibrationFigures | None = None
    """Of the same answers at the temperature."""
    brier_difference: float | None = None
    """Scaled minus raw, paired by answer: below 0 the temperature has helped."""
    brier_difference_low: float | None = None
    brier_difference_high: float | None = None
    bins: list[Bin] = []
    """The reliability diagram at the temperature."""
    populated_bins: int = 0


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """Whether a model is as often right as it is sure."""

    ece: float | None
    ece_low: float | None = None
    ece_high: float | None = None
    brier: float | None
    brier_low: float | None = None
    brier_high: float | None = None
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    bins: list[Bin]
    """The reliability diagram."""
    populated_bins: int
    covered: int
    """Answers that came with a confidence; the figures are over these."""
    n: int
    scaled: ScaledRow | None = None
    """With `--calibrate`: the same on held-out answers, raw and with a temperature."""
