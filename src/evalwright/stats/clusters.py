"""Samples that depend on each other: questions about one document, turns of one conversation.

    cluster_terms    one number per cluster, whose mean is the mean over the samples

Promises:   what is computed from the terms as if they were independent samples holds for clusters.
Does not:   help with few clusters. Below 10 the intervals are too narrow, whatever the method.
"""

from collections.abc import Sequence

from evalwright.stats.arrays import Floats, np


def cluster_terms(values: Floats, clusters: Sequence[str]) -> Floats:
    """Return one term per cluster, so that the mean of the terms is the mean of the values.

        u(g) = m + (S(g) - m·n(g)) · G / n,   S(g) = sum over cluster g,  m = mean of all n values

    This linearizes the ratio of sums m = ΣS / Σn. Its variance is the usual cluster-robust one,
    and the terms can be resampled, tested and counted like independent samples. With clusters of
    equal size, a term is the mean of its cluster.
    Cochran (1977), Sampling Techniques, section 9A; Miller (2024), Adding Error Bars to Evals,
    section 2.2.
    """
    if len(clusters) != values.size:
        raise ValueError(f"expected a cluster per value, got {len(clusters)} for {values.size}")
    if not values.size:
        return values
    _, places = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    sums = np.bincount(places, weights=values)
    sizes = np.bincount(places)
    mean = float(values.sum() / values.size)
    return np.asarray(mean + (sums - mean * sizes) * (sums.size / values.size))
