"""Sources of samples, one class per source."""
