"""Results in and out: a task's results with one model as one JSON file that other tools read.

    {"format_version": "v1", "app_version", "status", "specification", "execution", "errors",
     "evidence": {"metrics", "failures", "errors", "model_token_usages", "runs", "samples"}}

    log_outcomes     samples of a log: outcomes to JSON and back
    log_metrics      metrics of a log: to JSON and back
    read_log         check a log to its end, then read its outcomes
    recorded_tasks   tasks of an evaluation whose results are read from a log
    export_run       a run to a folder of logs
    import_run       a log, or a folder of logs, to a run

What the format has no place for stands under a key `evalwright`, which other readers may ignore.
NaN and the infinities are written as the constants that Python's JSON has for them.
"""
