r"""The one tokenizer of `f1`, `bleu_4` and `rouge_l`: lowercase, then runs of Unicode `\w`.

    "Don't stop, 3.5x!"  →  don  t  stop  3  5x

Does not:   segment scripts that are written without spaces (a Chinese sentence is one token),
            normalise (é as one code point and as two are different), or keep together what `\w`
            splits: emoji are no tokens, and a combining mark (Arabic vowels, Devanagari vowel
            signs) ends one.
"""

import re

_WORDS = re.compile(r"\w+")

_ASCII = "".join(chr(code).lower() if _WORDS.match(chr(code)) else " " for code in range(128))
"""Code → its lowercase if `\\w` matches it, else a space."""


def tokens(text: str) -> list[str]:
    """Return the lowercase words of a text, in order."""
    if text.isascii():  # the same words, three times as fast
        return text.translate(_ASCII).split()
    return _WORDS.findall(text.lower())
