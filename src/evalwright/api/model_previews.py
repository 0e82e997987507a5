"""Query a model once, and keep nothing."""

from evalwright.projects.try_model import try_model

__all__ = ["try_model"]
