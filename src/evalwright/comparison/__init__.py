"""Compare runs, models and variants of a task sample by sample.

    sides      which task and model of each run are compared with which
    pairing    the scores of both sides, paired by the content of the sample
    statistic  difference, interval, test and verdict
    changes    what differs between two runs besides the results
    flips      the samples whose scores changed, with both outputs
    compare    all of that for any number of runs
    tables     text and markdown

Promises:   a sample counts only if both sides completed it; what could not be compared is named
            with the reason; the same runs and seed give the same numbers.
Does not:   compare metrics that are not a mean or a ratio over samples, such as a maximum.
"""
