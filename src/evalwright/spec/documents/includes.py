"""Other files in a document: `!include` for their text, `$ref` for their values.

    long_description: !include README.md       the text, without white space at its ends
    definition:
      $ref: definitions/qa.yaml                the values

Both are relative to the file that they are written in. Keys beside `$ref` are merged with those of
the file, one level deep; of a key in both, the file's value is used. A list's item may be a `$ref`;
it stays one item, also if the file is a list.
"""

from evalwright.components import Authored
from evalwright.spec.documents.texts import NoText, beside, read_text

TAG = "!include"
REF = "$ref"
MOST_REFS = 20
"""How many files may refer to each other in a row."""


def included(written: str, file: str) -> Authored | NoText:
    """The text of a file, placed at its first line that says something."""
    if not written.strip():
        return NoText("bad_include", "expected the path of a file after `!include`")
    read = read_text(beside(file, written.strip()))
    if isinstance(read, NoText):
        return NoText("bad_include", _of(written, read), read.hint)
    text = read.text.strip()
    before = read.text[: len(read.text) - len(read.text.lstrip())]
    return Authored(text, file=read.shown, line=before.count("\n") + 1)


def bad_ref(written: object) -> NoText | None:
    """Why this is nothing to refer to, if it is so before any file is opened."""
    if not isinstance(written, str) or not written.strip() or "\0" in written:
        return NoText("bad_ref", f"expected the path of a YAML file, got `{written!r}`")
    if "://" in written:
        return NoText("bad_ref", "expected the path of a file, got a URL", "keep a copy beside it")
    if "#" in written:
        return NoText(
            "bad_ref",
            f"expected the path of a whole file, got the fragment `{written}`",
            "put the part into a file of its own",
        )
    return None


def unreadable_ref(written: str, read: NoText) -> NoText:
    """The same reason, as it is said where the reference stands."""
    return NoText("bad_ref", _of(written, read), read.hint)


def _of(written: str, read: NoText) -> str:
    at = f":{read.line}" if read.line > 1 else ""
    return f"`{written}{at}`: {read.detail}"
