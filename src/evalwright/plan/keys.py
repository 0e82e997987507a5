"""Hash what an outcome depends on: equal keys mean equal work.

    solve key   solver and its version, the sample's id, what the solver reads of it, model, its
                fingerprint, trial, the kind of request if not chat, fingerprints
                of other models that the solver calls, a document's row if a model reads it
    score key   solve key, output (for documents: the conversation), scorer and its version,
                what it reads of the sample; fingerprints of the models that it calls; tier of the
                sandbox, whether its verdicts are verified, packages in it

A key omits what does not matter: targets do not change an answer, so a corrected target is
scored again without a call. Parts are hashed with their lengths, so different lists differ.
"""

from hashlib import blake2b

_BYTES = 16


def key_of(*parts: str) -> str:
    """Return the key of a list of parts."""
    digest = blake2b(digest_size=_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
