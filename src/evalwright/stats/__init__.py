"""How sure we are: intervals, paired differences, calibration, pass@k.

    arrays       numpy when it is needed, the check that values lie in [0, 1], chunks of draws
    interval     intervals; Wilson's of a proportion, a bound for equal values
    mean         the mean and its interval: picks the method
    bootstrap    percentile, BCa and bootstrap-t intervals of a mean
    sums         of what is computed from sums: precision, recall, F1
    rates        of one sum over another: nats per token, a mean over groups
    deviation    the standard deviation, and its interval
    paired       of the difference between two models on the same tasks; how often one is the best
    calibration  expected calibration error, Brier score, reliability diagram, temperature scaling
    likelihood   of a text by its tokens, its share among several, perplexity
    agreement    of runs, of two judges beyond chance (kappa), and correlation
    pass_at_k    chance that one of k attempts passes, or that all do
    quantiles    normal, Student and empirical quantiles

Pure: numbers in, numbers out, the same for the same seed and for any order of the scores.
Does not: read files, know of tasks or models, or decide what is left out of a mean.
"""
