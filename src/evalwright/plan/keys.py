"""What an outcome depends on, as a hash: equal keys, equal work.

    solve key   solver and its version, the sample's id, what the solver reads of it, model, its
                fingerprint, trial, what the model is asked for if that is not chat, fingerprints
                of other models that the solver asks, a document's row if a model looks at it
    score key   solve key, output (of a document's task: all that was said), scorer and its version,
                what it reads of the sample; fingerprints of the models that it asks; tier of the
                sandbox, whether its verdicts are verified, packages in it

A key leaves out what does not matter: targets do not change an answer, so a mended target is
scored again without a call. Parts are written with their lengths, so no two lists of parts meet.
"""

from hashlib import blake2b

_BYTES = 16


def key_of(*parts: str) -> str:
    """One key for a list of parts."""
    digest = blake2b(digest_size=_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
