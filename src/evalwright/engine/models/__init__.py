"""Models around a model: retry, limits, cache, cap, cost, redaction. `stack` puts them together.

A caller sees a `Model` and nothing more. Outermost first, each only where it has something to do:

    Cached       an answer already had is not asked for again
    Capped       stops the run when its money or its tokens are spent
    Metered      says what an answer cost
    Redacting    takes secrets out of answers and errors, before anything can keep them
    Retrying     asks again where that can help, and waits outside the gate
    Limited      so many at once
    RateLimited  so many a minute
    Counted      what the progress line shows
"""
