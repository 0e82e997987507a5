"""How sure we are: intervals, paired differences, calibration, pass@k.

    interval     what an interval is
    wilson       of a proportion
    mean         of the mean of scores in [0, 1]: picks the method
    any_mean     of the mean of any numbers
    grouped_mean of the mean of scores in [0, 1] that come in groups
    bootstrap    percentile, BCa and bootstrap-t intervals of a mean
    bound        of a mean when all values are equal
    sums         of what is computed from sums: precision, recall, F1
    rates        of one sum over another: nats a token, bits a byte
    deviation    the standard deviation, and its interval
    paired       of the difference between two models on the same tasks
    win_rate     how often a model is the best one
    calibration  expected calibration error, Brier score, reliability diagram
    temperature  one number that makes confidences fit the accuracy
    perplexity   of what a model read or wrote
    likelihood   of a text by its tokens, and its share among several
    kappa        agreement of two judges beyond chance: Cohen's, and the quadratic one
    correlation  Pearson's and Spearman's
    pass_at_k    chance that one of k attempts passes, or that all do
    agreement    how often runs say the same of a sample
    quantiles    normal, Student and empirical quantiles
    unit         the check that values lie in [0, 1]

Pure: numbers in, numbers out, the same for the same seed and for any order of the scores.
Nothing is imported here, because numpy costs a tenth of a second that most commands never need.
Does not: read files, know of tasks or models, or decide what is left out of a mean.
"""
