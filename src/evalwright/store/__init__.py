"""Store runs, and every outcome the moment it is finished.

sqlite        one file; survives a killed process, and with `durable` a machine that loses power
memory        nothing survives: for tests, and for a run that should leave nothing behind
reply_cache   replies of models, kept for later runs; may be deleted
"""
