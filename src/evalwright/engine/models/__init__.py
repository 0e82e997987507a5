"""Models that wrap a model: retry, limits, cache, budget, cost, redaction. `wrap` stacks them.

A caller sees a `Model` and nothing more. From the inside out; a wrapper with nothing to do is left
out:

    Counted       counts single attempts, for the progress line
    RateLimited   sends a call when the rate limit allows it, after all other limits
    Limited       concurrency limit; a call that waits for a retry does not count
    Retrying      retries what can succeed later
    Redacting     removes secrets, before whatever is further out stores what it sees
    Metered       computes costs, for the budget and the cache
    Capped        stops the run when the budget is spent; a cached answer costs nothing
    Cached        answers equal requests from stored replies
"""
