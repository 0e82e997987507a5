"""Export and import result logs: JSON files with the results of one task and model.

    {"format_version": "v1", "app_version", "status", "specification", "execution", "errors",
     "evidence": {"metrics", "failures", "errors", "model_token_usages", "runs", "samples"}}

    log_outcomes     converts outcomes to JSON and back
    log_metrics      converts metrics to JSON and back
    read_log         checks a whole log, then reads its outcomes
    recorded_tasks   plans tasks whose results are read from a log
    export_run       exports a run to a folder of logs
    import_run       imports a log, or a folder of logs, as a run

Information that the format does not support is under the key `evalwright`, which other readers may
ignore. NaN and infinities are written as the constants of Python's JSON.
"""
