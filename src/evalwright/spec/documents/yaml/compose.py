"""Compose values and their places from parser events, across all files of a document.

Values are built from events instead of PyYAML's constructor. This avoids recursion in C and
unwanted construction of objects, and an error affects one value instead of the whole file.

A file that is referenced twice is read only once. A circular reference is an error that shows the
cycle. If aliases and references repeat too many values, reading stops.

Unquoted words follow the core schema of YAML 1.2, so a label `no` remains a string.

    true  False  NULL  ~  12  -3  0o17  0x1F  1e3  .5  .inf  .NaN      values
    yes  off  2024-01-01  12:30  1_000  0b1                            strings
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import yaml
from msgspec import Struct

from evalwright.components import Authored
from evalwright.lines import show_path
from evalwright.nearest import nearest
from evalwright.spec.documents.yaml.environment import ExpandedText, expand_variables
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Marks,
    Place,
    locate_fault,
    to_one_line,
    type_name,
)
from evalwright.spec.documents.yaml.syntax_errors import (
    QUOTES,
    UNQUOTED,
    explain_yaml_error,
    find_bad_character,
)
from evalwright.spec.documents.yaml.text_files import (
    INCLUDE_TAG,
    MAX_REFS,
    OUTSIDE_HINT,
    REF_KEY,
    Mistake,
    TextFile,
    check_inside,
    check_ref,
    display_path,
    explain_unreadable,
    path_beside,
    read_include,
    read_text,
)
from evalwright.types import Issue

MAX_DEPTH = 100
"""Maximum nesting of lists and mappings, across all files."""
MAX_PROBLEMS = 1000
"""Maximum number of reported problems."""
MAX_REPEATED = 100_000
"""Maximum number of values that aliases and references may repeat, in total."""
TOO_DEEP = Mistake("too_deep", f"more than {MAX_DEPTH} nested lists and mappings")
TOO_MANY = Mistake("too_many", f"more than {MAX_PROBLEMS} problems: the rest is not read")
ALIAS_BOMB = Mistake(
    "alias_bomb",
    f"aliases and references repeat more than {MAX_REPEATED} values",
    "write only the differences, or move data to a dataset file",
)
_NOT_EXPANDED = (REF_KEY, "$provider")
_STANDARD = "tag:yaml.org,2002:"
_COLLECTION_TAGS: dict[type[yaml.CollectionStartEvent], str] = {
    yaml.MappingStartEvent: _STANDARD + "map",
    yaml.SequenceStartEvent: _STANDARD + "seq",
}
# YAML 1.1 ends lines at these characters, but YAML 1.2 and editors do not, so they are replaced.
_BREAKS = str.maketrans("\x85\u2028\u2029", "\ufdd0\ufdd1\ufdd2")
_NO_KEY: Final = object()
_HEAD = re.compile(r"(?:[&!]\S*\s+)*(?=[|>])")
_BACK = {new: old for old, new in _BREAKS.items()}
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{
        sign + word: float(sign + "inf")
        for sign in ("", "+", "-")
        for word in (".inf", ".Inf", ".INF")
    },
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NUMBER_STARTS = frozenset("+-.0123456789")
_MAX_DIGITS = 300
_BASES = {"0o": 8, "0x": 16}
_SCALAR_TAGS = {
    _STANDARD + "null": type(None),
    _STANDARD + "bool": bool,
    _STANDARD + "int": int,
    _STANDARD + "float": float,
}
"""Tags with which authors can force a type."""


class StopReading(Exception):
    """Stops reading a file or, with `everything`, all files."""

    def __init__(self, problem: Issue, *, everything: bool = False) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.everything = everything


class ComposedValue(NamedTuple):
    """A value with its places and size."""

    data: Any
    marks: Marks
    size: int = 1
    """Number of values in it; repeated values count each time."""
    height: int = 0
    """Nesting depth of lists and mappings in it."""


class ComposedFile(Struct):
    """A file and the files that it refers to."""

    value: ComposedValue | None = None
    """None if the file could not be read to its end."""
    files: list[str] = []
    """Names of all files, in reading order."""
    variables: set[str] = set()
    """Environment variables that were expanded."""
    clean: bool = True
    """Whether none of the files has problems."""

    def add(self, other: "ComposedFile") -> None:
        """Add a referenced file."""
        self.files += [name for name in other.files if name not in self.files]
        self.variables |= other.variables
        self.clean = self.clean and other.clean


ComposedFiles = dict[tuple[str, str], ComposedFile]
"""Files without problems, by real path and by name in messages."""


class ReadingState:
    """State shared by all files of a document; `composed` is shared by several documents."""

    def __init__(
        self,
        environment: Mapping[str, str],
        roots: Sequence[str],
        composed: ComposedFiles | None = None,
        *,
        takes_pipes: bool = False,
    ) -> None:
        self.environment = environment
        self.roots = roots
        """Folders from which files may be included."""
        self._takes_pipes = takes_pipes
        self.problems: list[Issue] = []
        self.unread: list[FieldPath] = []
        self.current = ComposedFile()
        """The file being read; otherwise the whole document."""
        self._composed = {} if composed is None else composed
        self._open: dict[str, str] = {}
        self._done: dict[str, ComposedFile] = {}
        self._repeated = 0

    def report(
        self, place: Place, mistake: Mistake, path: FieldPath, *, warning: bool = False
    ) -> None:
        """Add a problem; StopReading if there are too many."""
        if len(self.problems) >= MAX_PROBLEMS:
            raise StopReading(problem_at(place, TOO_MANY, path), everything=True)
        self.problems.append(problem_at(place, mistake, path, warning=warning))

    def repeat(self, value: ComposedValue, place: Place, path: FieldPath) -> None:
        """Count values that an alias or a reference repeats; StopReading if there are too many."""
        self._repeated += value.size
        if len(path) + value.height > MAX_DEPTH:
            raise StopReading(problem_at(place, TOO_DEEP, path), everything=True)
        if self._repeated > MAX_REPEATED:
            raise StopReading(problem_at(place, ALIAS_BOMB, path), everything=True)

    def read(self, file: str, path: FieldPath) -> ComposedFile | Mistake:
        """Compose a file or reuse a composed file; Mistake if it cannot be read."""
        real, shown = file if "\0" in file else os.path.realpath(file), display_path(file)
        known = self._composed.get((real, shown))
        if known is None or known.value is None or len(path) + known.value.height > MAX_DEPTH:
            takes_pipes = self._takes_pipes and not self._open  # not for included files
            text = read_text(file, takes_pipes=takes_pipes)
            if isinstance(text, Mistake):
                return text
            known = self._compose(text, real, path)
            if known.clean:
                self._composed[real, shown] = known
        else:
            self.current.add(known)
        self._done[real] = known
        return known

    def read_ref(
        self, written: Any, file: str, place: Place, path: FieldPath
    ) -> ComposedValue | None:
        """Return the value of the file of a `$ref`; report a problem if there is none."""
        target: ComposedFile | Mistake | None = check_ref(written)
        if target is None:
            target = self._find_ref(path_beside(file, written.strip()), written, place, path)
        if isinstance(target, Mistake):
            self.report(place, target, path)
            return None
        return target.value

    def _find_ref(
        self, file: str, written: str, place: Place, path: FieldPath
    ) -> ComposedFile | Mistake:
        if wrong := check_inside(file, "", self.roots):
            return Mistake("bad_ref", f"`{written}`: {wrong}", OUTSIDE_HINT)
        real = os.path.realpath(file)
        if (known := self._done.get(real)) is not None:
            if known.value is not None:
                self.repeat(known.value, place, path)
            self.current.add(known)
            return known
        if real in self._open:
            chain = list(self._open.values())[list(self._open).index(real) :]
            shown = " → ".join([*chain, chain[0]])
            return Mistake("ref_cycle", f"the files refer to each other in a circle: {shown}")
        if len(self._open) > MAX_REFS:
            return Mistake("too_deep", f"more than {MAX_REFS} files refer to each other in a chain")
        target = self.read(file, path)
        if isinstance(target, Mistake):
            return explain_unreadable("bad_ref", written, target)
        return target

    def _compose(self, text: TextFile, real: str, path: FieldPath) -> ComposedFile:
        name = show_path(text.shown)
        outer, before = self.current, (len(self.problems), len(self.unread))
        self.current = composed = ComposedFile(files=[name])
        self._open[real] = name
        try:
            composed.value = _Composer(text, self, path).compose()
        except StopReading as stop:
            if stop.everything:
                raise
            last = stop.problem
            if not any(
                (problem.file, problem.line, problem.rule) == (last.file, last.line, last.rule)
                for problem in self.problems
            ):
                self.problems.append(last)
        finally:
            self.current = outer
            composed.clean = composed.clean and before == (len(self.problems), len(self.unread))
            outer.add(composed)
        del self._open[real]
        return composed


def problem_at(place: Place, mistake: Mistake, path: FieldPath, *, warning: bool = False) -> Issue:
    """Return the issue for a mistake at a place."""
    level: Literal["error", "warning"] = "warning" if warning else "error"
    detail, hint = to_one_line(mistake.detail), to_one_line(mistake.hint)
    return locate_fault(Fault(path, mistake.rule, detail, hint, level), place)


class _Composer:
    """Composes the values of one file."""

    def __init__(self, text: TextFile, reading: ReadingState, path: FieldPath) -> None:
        self._text = text
        self._file = show_path(text.shown)
        self._reading = reading
        self._top = path
        self._anchors: dict[str, ComposedValue | None] = {}
        source = text.text.translate(_BREAKS)
        self._changed = source != text.text
        self._source = source

    def compose(self) -> ComposedValue:
        """Return the only value in the file; StopReading if there is none."""
        if (mistake := find_bad_character(self._text.text)) is not None:
            raise self._stop(mistake)
        try:
            # PyYAML may have been built without the C parser.
            loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
            self._parser: Any = loader(self._source)
            try:
                return self._compose_document()
            finally:
                self._parser.dispose()
        except yaml.YAMLError as error:
            raise self._stop(explain_yaml_error(error, self._source)) from error

    def _compose_document(self) -> ComposedValue:
        self._parser.get_event()  # the start of the stream
        event = self._parser.get_event()
        if isinstance(event, yaml.DocumentStartEvent):
            event = self._parser.get_event()
        is_empty = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and not event.value
        if is_empty or isinstance(event, yaml.StreamEndEvent):
            raise self._stop(Mistake("empty", "the file is empty", "", 1, 1))
        value = self._compose_node(event, self._top)
        self._parser.get_event()  # the end of the document
        last = self._parser.get_event()
        if not isinstance(last, yaml.StreamEndEvent):
            mistake = Mistake(
                "many_documents",
                "expected one document, but another starts here",
                "remove the `---`, or put the second document into its own file",
            )
            self._reading.report(self._place(last), mistake, ())
        return value

    def _compose_node(self, event: Any, path: FieldPath, *, key: Any = None) -> ComposedValue:
        """Return the value that starts with this event; `key` is its key in a mapping."""
        if isinstance(event, yaml.ScalarEvent):
            value = self._compose_scalar(event, path, key)
        elif isinstance(event, yaml.AliasEvent):
            return self._resolve_alias(event, path)
        else:
            if event.anchor is not None:
                self._anchors[event.anchor] = None
            value = self._compose_collection(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _resolve_alias(self, event: Any, path: FieldPath) -> ComposedValue:
        place = self._place(event)
        if event.anchor not in self._anchors:
            known = nearest(event.anchor, self._anchors)
            hint = f"did you mean `*{known}`?" if known else "define the anchor with `&` first"
            mistake = Mistake("unknown_alias", f"no anchor is named `{event.anchor}`", hint)
        elif (value := self._anchors[event.anchor]) is None:
            mistake = Mistake("recursive_alias", f"`*{event.anchor}` is inside its own anchor")
        else:
            self._reading.repeat(value, place, path)
            return value._replace(marks=value.marks.under(None, value=place))
        return self._report_loss(place, mistake, path)

    def _compose_collection(
        self, event: yaml.CollectionStartEvent, path: FieldPath
    ) -> ComposedValue:
        place = self._place(event)
        if len(path) >= MAX_DEPTH:
            raise StopReading(problem_at(place, TOO_DEEP, path))
        if event.tag not in {None, "!", _COLLECTION_TAGS[type(event)]}:
            self._report_unknown_tag(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._compose_sequence(place, path)
        return self._compose_mapping(place, path)

    def _compose_sequence(self, place: Place, path: FieldPath) -> ComposedValue:
        data: list[Any] = []
        children: dict[str | int, Marks] = {}
        size, height = 1, 0
        while not isinstance(event := self._parser.get_event(), yaml.SequenceEndEvent):
            number = len(data)
            item = self._compose_node(event, (*path, number))
            data.append(item.data)
            children[number] = item.marks
            size += item.size
            height = max(height, item.height)
        return ComposedValue(data, Marks(place, None, children), size, height + 1)

    def _compose_mapping(self, place: Place, path: FieldPath) -> ComposedValue:
        data: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        marks = Marks(place)
        more: dict[str | int, Marks] = {}
        size, height = 1, 0
        while not isinstance(event := self._parser.get_event(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                value = self._compose_node(self._parser.get_event(), (*path, "<<"))
                self._merge_into(value, merged, more, path)
            else:
                at = self._place(event)
                key = self._compose_key(event, path)
                below = (*path, "?" if key is _NO_KEY else key)
                value = self._compose_node(self._parser.get_event(), below, key=key)
                if self._is_new(key, at, marks, path):
                    data[key] = value.data
                    marks.children[key] = value.marks.under(at)
            size += value.size
            height = max(height, value.height)
        if merged:
            data = merged | data
            marks.children = more | marks.children
        mapping = ComposedValue(data, marks, size, height + 1)
        return self._with_ref(mapping, path) if REF_KEY in data else mapping

    def _compose_key(self, event: Any, path: FieldPath) -> Any:
        """Return the key that starts with this event; `_NO_KEY` if it is not a scalar."""
        key = self._compose_node(event, (*path, "?"))
        if not isinstance(key.data, list | dict):
            return str(key.data) if isinstance(key.data, str) else key.data
        if isinstance(event, yaml.MappingStartEvent):
            mistake = Mistake("bad_yaml", UNQUOTED, QUOTES)
        else:
            mistake = Mistake("bad_yaml", "expected a scalar as a key, got a list")
        self._report_loss(key.marks.value, mistake, path)
        return _NO_KEY

    def _is_new(self, key: Any, at: Place, marks: Marks, path: FieldPath) -> bool:
        if key is _NO_KEY:
            return False
        if (first := marks.children.get(key)) is None or first.key is None:
            return True
        mistake = Mistake(
            "duplicate_key", f"duplicate key `{key}`, on lines {first.key.line} and {at.line}"
        )
        self._reading.report(at, mistake, (*path, key))
        return False

    def _merge_into(
        self,
        value: ComposedValue,
        merged: dict[Any, Any],
        more: dict[str | int, Marks],
        path: FieldPath,
    ) -> None:
        """Merge the mappings of `<<`; if several have a key, the first takes precedence."""
        mappings = value.data if isinstance(value.data, list) else [value.data]
        for number, mapping in enumerate(mappings):
            marks = value.marks.children[number] if mapping is not value.data else value.marks
            if not isinstance(mapping, dict):
                detail = f"expected a mapping after `<<`, got `{type_name(mapping)}`"
                self._reading.report(marks.value, Mistake("bad_merge", detail), path)
                continue
            for key, item in mapping.items():
                merged.setdefault(key, item)
                more.setdefault(key, marks.children[key])

    def _with_ref(self, mapping: ComposedValue, path: FieldPath) -> ComposedValue:
        """Merge the values of a `$ref`'s file with the mapping's other keys."""
        data, children = dict(mapping.data), dict(mapping.marks.children)
        written, place = data.pop(REF_KEY), children.pop(REF_KEY).value
        target = self._reading.read_ref(written, self._text.path, place, path)
        if target is None:
            self._reading.unread.append(path)
            target = ComposedValue({}, mapping.marks, size=0)
        elif not data:
            return target
        elif not isinstance(target.data, dict):
            kind = type_name(target.data)
            mistake = Mistake(
                "bad_ref",
                f"expected a mapping in `{written}`, which is merged with other keys; got `{kind}`",
                "remove the other keys next to `$ref`",
            )
            self._report_loss(place, mistake, path)
        else:
            for key in [key for key in data if key in target.data]:
                mistake = Mistake(
                    "overridden_key", f"`{key}` is also in `{written}`, which takes precedence"
                )
                at = children[key].key or place
                self._reading.report(at, mistake, (*path, key), warning=True)
            data |= target.data
            children |= target.marks.children
        marks = Marks(mapping.marks.value, None, children)
        height = max(mapping.height, target.height)
        return ComposedValue(data, marks, mapping.size + target.size, height)

    def _compose_scalar(self, event: yaml.ScalarEvent, path: FieldPath, key: Any) -> ComposedValue:
        place = self._place(event)
        text = event.value.translate(_BACK) if self._changed else event.value
        if event.tag not in {None, "!", _STANDARD + "str"}:
            return self._compose_tag(event, text, place, path)
        if event.implicit[0] and event.tag is None:
            try:
                value = _parse_scalar(text)
            except ValueError as error:
                return self._report_loss(place, Mistake("bad_number", str(error)), path)
            if not isinstance(value, str):
                return ComposedValue(value, Marks(place))
        written = Authored(text, file=self._text.shown, line=self._first_line(event))
        if text.startswith(INCLUDE_TAG):
            mistake = Mistake(
                "quoted_include", "`!include` in quotes is a plain string", "remove the quotes"
            )
            self._reading.report(place, mistake, path, warning=True)
        elif text.startswith("$") and key is not None and key not in _NOT_EXPANDED:
            written = self._expand(written, place, path)
        return ComposedValue(written, Marks(place))

    def _expand(self, written: Authored, place: Place, path: FieldPath) -> Authored:
        value, unset = expand_variables(written, self._reading.environment)
        for name in unset:
            detail = f"the variable `{name}` is not set"
            mistake = Mistake("unset_variable", detail, "the text is left unchanged")
            self._reading.report(place, mistake, path, warning=True)
        if isinstance(value, ExpandedText):
            self._reading.current.variables.update(value.names)
        return value

    def _compose_tag(
        self, event: yaml.ScalarEvent, text: str, place: Place, path: FieldPath
    ) -> ComposedValue:
        if event.tag == INCLUDE_TAG:
            included = read_include(text, self._text.path, self._reading.roots)
            if isinstance(included, Mistake):
                return self._report_loss(place, included, path)
            return ComposedValue(included, Marks(place))
        if event.tag not in _SCALAR_TAGS:
            self._report_unknown_tag(event, path)
            return ComposedValue(None, Marks(place))
        try:
            return ComposedValue(_parse_tagged_scalar(text, event.tag), Marks(place))
        except ValueError as error:
            return self._report_loss(place, Mistake("bad_tag", str(error)), path)

    def _report_unknown_tag(self, event: Any, path: FieldPath) -> None:
        tag = event.tag.replace(_STANDARD, "!!")
        if tag == INCLUDE_TAG:
            mistake = Mistake("bad_include", "expected the path of a file after `!include`")
        else:
            is_near = nearest(tag, [INCLUDE_TAG])
            hint = (
                f"did you mean `{INCLUDE_TAG}`?" if is_near else f"the only tag is `{INCLUDE_TAG}`"
            )
            mistake = Mistake("unknown_tag", f"unknown tag `{tag}`", hint)
        self._reading.report(self._place(event), mistake, path)
        self._reading.unread.append(path)

    def _first_line(self, event: Any) -> int:
        line: int = event.start_mark.line + 1
        if event.style not in {"|", ">"}:
            return line
        if event.anchor is not None or event.tag is not None:  # `|` may be on a later line
            start = event.start_mark.index
            head = _HEAD.match(self._source, start)
            line += self._source.count("\n", start, head.end()) if head else 0
        return line + 1

    def _place(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _report_loss(self, place: Place, mistake: Mistake, path: FieldPath) -> ComposedValue:
        """Report a mistake and return a placeholder for the unusable value."""
        self._reading.report(place, mistake, path)
        self._reading.unread.append(path)
        return ComposedValue(None, Marks(place))

    def _stop(self, mistake: Mistake) -> StopReading:
        place = Place(self._file, mistake.line, mistake.column)
        return StopReading(problem_at(place, mistake, self._top))


def _parse_scalar(text: str) -> Any:
    """Return the value of an unquoted word; the string itself if the schema has no value for it.

    Raises ValueError for a number with more digits than Python can print.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    is_integer = _INTEGER.fullmatch(text) is not None
    if not is_integer and not _FLOAT.fullmatch(text):
        return text
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"expected a number of at most {_MAX_DIGITS} digits, got {len(text)}")
    return int(text, _BASES.get(text[:2], 10)) if is_integer else float(text)


def _parse_tagged_scalar(text: str, tag: str) -> Any:
    """Return the value of a word with one of `_SCALAR_TAGS`; ValueError if it is invalid."""
    value, expected = _parse_scalar(text), _SCALAR_TAGS[tag]
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise ValueError(f"expected a value for the tag `!!{tag.rpartition(':')[2]}`, got `{text}`")
    return value
