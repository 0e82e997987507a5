"""Result logs: what became of one task with one model, in one JSON file, so that results can move.

    {"format_version": "v1", "app_version", "status", "specification", "execution", "errors",
     "evidence": {"metrics", "failures", "errors", "model_token_usages", "runs", "samples"}}

    evidence      what stands in a log of an outcome          outcomes to JSON
    taken         the same the other way                      JSON to outcomes
    figures       metrics, both ways
    walking       a JSON file of any size, value by value
    reading       a log: checked to its end, then its outcomes
    writing       a log, sample by sample

What we know and the format has no place for stands under a key `evalwright`, which other readers
may ignore. NaN and the infinities are written as the constants that Python's JSON has for them.
"""
