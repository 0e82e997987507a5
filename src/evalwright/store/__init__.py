"""Remember: runs, and every outcome the moment it is finished.

    sqlite   one file; survives a killed process, and with `durable` a machine that loses power
    memory   nothing survives: for tests, and for a run that should leave nothing behind
    shelf    answers of models, kept for later runs: a cache, which may be deleted

Beside them: the schema and its migrations, how bodies are packed, and what went wrong in words.
"""
