"""Explain PyYAML's syntax errors in plain words.

The parser's messages are about tokens and block ends. Most errors are of a few kinds: a tab, an
unquoted string with a colon or a brace, or an unclosed bracket.
"""

import re

from yaml import MarkedYAMLError, YAMLError

from evalwright.spec.documents.yaml.text_files import Mistake

QUOTES = "put the text in quotes, or after `|` on its own lines"
"""Hint for text that YAML does not interpret as a string."""
UNQUOTED = "a template must be in quotes"
_NOT_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_JINJA = re.compile(r"(?:^|[:\-\[,])\s*\{[{%]")
_EXPLANATIONS = (
    ("mapping values are not allowed", "a second `:` on one line", QUOTES),
    ("cannot start any token", "unquoted text cannot start with this character", QUOTES),
    ("expected alphabetic or numeric", "`*` and `&` start the name of an anchor", QUOTES),
    ("could not find expected ':'", "expected `key: value`, but there is no `:`", ""),
    (
        "did not find expected '-' indicator",
        "expected another list item",
        "are the items indented equally?",
    ),
    ("did not find expected key", "expected a key here", "are the keys indented equally?"),
    ("expected ',' or", "a bracket is not closed, or a `,` is missing", ""),
    ("comment or line break", "`>` and `|` start a text block on the following lines", QUOTES),
    ("node content", "expected a value here", "is a bracket or a quote not closed?"),
    ("end of stream", "a quote or a bracket is not closed", ""),
    ("unknown escape", r"unknown `\` escape", r"use single quotes, or `\\`"),
    ("sequence entries are not allowed", "a list cannot start here", "start it on a new line"),
    ("undefined tag handle", "the prefix of this tag is not declared", ""),
    ("incompatible YAML", "expected YAML 1.1 or 1.2", ""),
)
_BEGINS_BEFORE = ("end of stream", "expected ',' or", "expected ':'")


def find_bad_character(text: str) -> Mistake | None:
    """Return the first character that is not allowed in a document, if there is one."""
    if (match := _NOT_TEXT.search(text)) is None:
        return None
    start = match.start()
    return Mistake(
        "not_text",
        f"the character U+{ord(match[0]):04X} is not allowed in a document",
        r'write it as an escape in double quotes, such as "\x07"',
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
    )


def explain_yaml_error(error: YAMLError, text: str) -> Mistake:
    """Explain an error of the parser."""
    message, mark = str(error).partition("\n")[0], None
    if isinstance(error, MarkedYAMLError):
        message, mark = str(error.problem), error.problem_mark
        if error.context_mark is not None and any(part in message for part in _BEGINS_BEFORE):
            mark = error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    lines = text.split("\n")
    written = lines[line - 1] if line <= len(lines) else ""
    if "\t" in written[: max(column, len(written) - len(written.lstrip()))]:
        column = written.index("\t") + 1
        return Mistake(
            "tab", "a tab is used where only spaces are allowed", "use spaces", line, column
        )
    if _JINJA.search(written):
        return Mistake("bad_yaml", UNQUOTED, QUOTES, line, column)
    for part, detail, hint in _EXPLANATIONS:
        if part in message:
            return Mistake("bad_yaml", detail, hint, line, column)
    return Mistake("bad_yaml", f"invalid YAML: {message}", "", line, column)
