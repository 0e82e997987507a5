"""Compose values and their places from parser events, over all files of a document.

Built from events rather than by PyYAML's own constructor: nothing recurses in C, nothing is
constructed that was not asked for, and a mistake costs one value instead of the file.

A file that is referred to twice is read once. A cycle of references is a mistake that shows the
cycle. Aliases and references that repeat too many values stop the reading.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import yaml
from msgspec import Struct
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from evalwright.components import Authored
from evalwright.lines import show_path
from evalwright.nearest import nearest
from evalwright.spec.documents.yaml.environment import ExpandedText, expand_variables
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Mark,
    Place,
    locate_fault,
    to_one_line,
    type_name,
)
from evalwright.spec.documents.yaml.scalars import SCALAR_TAGS, parse_scalar, parse_tagged
from evalwright.spec.documents.yaml.syntax_errors import (
    QUOTES,
    UNQUOTED,
    explain_yaml_error,
    find_bad_character,
)
from evalwright.spec.documents.yaml.text_files import (
    INCLUDE_TAG,
    MAX_REFS,
    REF_KEY,
    Mistake,
    TextFile,
    check_ref,
    display_path,
    explain_unreadable_ref,
    path_beside,
    read_include,
    read_text,
)
from evalwright.types import Issue

MAX_DEPTH = 100
"""How many lists and mappings may stand in each other, over all files."""
MAX_PROBLEMS = 1000
"""More help nobody."""
MAX_REPEATED = 100_000
"""How many values aliases and references may repeat, all in all."""
TOO_DEEP = Mistake("too_deep", f"more than {MAX_DEPTH} lists and mappings in each other")
_NOT_EXPANDED = (REF_KEY, "$provider")
_STANDARD = "tag:yaml.org,2002:"
_FOR: dict[type[CollectionStartEvent], str] = {
    MappingStartEvent: _STANDARD + "map",
    SequenceStartEvent: _STANDARD + "seq",
}
# YAML 1.1 ends lines at these, YAML 1.2 and editors do not: the parser sees others in their place.
_BREAKS = str.maketrans("\x85\u2028\u2029", "\ufdd0\ufdd1\ufdd2")
_NO_KEY: Final = object()
_HEAD = re.compile(r"(?:[&!]\S*\s+)*(?=[|>])")
_BACK = {new: old for old, new in _BREAKS.items()}


class StopReading(Exception):
    """What ends the reading of a file, or, if `everything`, of all of them."""

    def __init__(self, problem: Issue, *, everything: bool = False) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.everything = everything


class ComposedValue(NamedTuple):
    """A value, where it was written, and how large it is."""

    data: Any
    mark: Mark
    size: int = 1
    """Of how many values it is made, those that are repeated counted again."""
    height: int = 0
    """How many lists and mappings in it stand in each other."""


class ComposedFile(Struct):
    """A file and those that it refers to."""

    value: ComposedValue | None = None
    """None if the file could not be read to its end."""
    files: list[str] = []
    """The names of all, in the order in which they were met."""
    variables: set[str] = set()
    """The variables of the environment that were filled in."""
    clean: bool = True
    """Whether there is no problem in any of them."""

    def add(self, other: "ComposedFile") -> None:
        """Take in a file that this one refers to."""
        self.files += [name for name in other.files if name not in self.files]
        self.variables |= other.variables
        self.clean = self.clean and other.clean


ComposedFiles = dict[tuple[str, str], ComposedFile]
"""Files without problems, by real path and by the name in messages."""


class UnreadableFile(Exception):
    """A file that has no text."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.detail)
        self.mistake = mistake


class ReadingState:
    """What the files of one document share. `composed` is shared by several documents."""

    def __init__(
        self, environment: Mapping[str, str], composed: ComposedFiles | None = None
    ) -> None:
        self.environment = environment
        self.problems: list[Issue] = []
        self.unread: list[FieldPath] = []
        self.current = ComposedFile()
        """What is being read; before and after that, what the whole document has."""
        self._composed = {} if composed is None else composed
        self._open: dict[str, str] = {}
        self._done: dict[str, ComposedFile] = {}
        self._repeated = 0

    def report(
        self, place: Place, wrong: Mistake, path: FieldPath, *, warning: bool = False
    ) -> None:
        """Note what is wrong at a place; Halt if that was said of too many already."""
        if len(self.problems) >= MAX_PROBLEMS:
            wrong = Mistake("too_many", f"more than {MAX_PROBLEMS} problems: the rest is not read")
            raise StopReading(problem_at(place, wrong, path), everything=True)
        self.problems.append(problem_at(place, wrong, path, warning=warning))

    def repeat(self, built: ComposedValue, place: Place, path: FieldPath) -> None:
        """Count what an alias or a reference brings once more; Halt if it is too much."""
        self._repeated += built.size
        if len(path) + built.height > MAX_DEPTH:
            raise StopReading(problem_at(place, TOO_DEEP, path), everything=True)
        if self._repeated > MAX_REPEATED:
            wrong = Mistake(
                "alias_bomb",
                f"aliases and references repeat more than {MAX_REPEATED} values",
                "write what differs, or put data into a dataset file",
            )
            raise StopReading(problem_at(place, wrong, path), everything=True)

    def read(self, file: str, path: FieldPath) -> ComposedValue | None:
        """The values of a file; None if it could not be read to its end."""
        real, shown = file if "\0" in file else os.path.realpath(file), display_path(file)
        known = self._composed.get((real, shown))
        if known is None or known.value is None or len(path) + known.value.height > MAX_DEPTH:
            text = read_text(file)
            if isinstance(text, Mistake):
                raise UnreadableFile(text)
            known = self._compose(text, real, path)
            if known.clean:
                self._composed[real, shown] = known
        else:
            self.current.add(known)
        self._done[real] = known
        return known.value

    def _compose(self, text: TextFile, real: str, path: FieldPath) -> ComposedFile:
        name = show_path(text.shown)
        outer, before = self.current, (len(self.problems), len(self.unread))
        self.current = composed = ComposedFile(files=[name])
        self._open[real] = name
        try:
            composed.value = _Composer(text, self, path).built()
        except StopReading as halt:
            if halt.everything:
                raise
            self._halted(halt.problem)
        finally:
            self.current = outer
            composed.clean = composed.clean and before == (len(self.problems), len(self.unread))
            outer.add(composed)
        del self._open[real]
        return composed

    def referred(
        self, written: Any, file: str, place: Place, path: FieldPath
    ) -> ComposedValue | None:
        """The values of the file that a `$ref` names; None with a problem if there are none."""
        if (wrong := check_ref(written)) is None:
            target = path_beside(file, written.strip())
            real = os.path.realpath(target)
            if (known := self._done.get(real)) is not None:
                if known.value is not None:
                    self.repeat(known.value, place, path)
                self.current.add(known)
                return known.value
            wrong = self._not_now(real)
            if wrong is None:
                try:
                    return self.read(target, path)
                except UnreadableFile as error:
                    wrong = explain_unreadable_ref(written, error.mistake)
        self.report(place, wrong, path)
        return None

    def _halted(self, last: Issue) -> None:
        """Note what ended a file, unless the same line was said to be no YAML already."""
        key = (last.file, last.line, last.rule)
        if key not in ((one.file, one.line, one.rule) for one in self.problems):
            self.problems.append(last)

    def _not_now(self, real: str) -> Mistake | None:
        if real in self._open:
            chain = list(self._open.values())
            chain = chain[list(self._open).index(real) :]
            shown = " → ".join([*chain, chain[0]])
            return Mistake("ref_cycle", f"the files refer to each other in a circle: {shown}")
        if len(self._open) > MAX_REFS:
            return Mistake("too_deep", f"more than {MAX_REFS} files refer to each other in a row")
        return None


def problem_at(place: Place, wrong: Mistake, path: FieldPath, *, warning: bool = False) -> Issue:
    """What is wrong at a place."""
    level: Literal["error", "warning"] = "warning" if warning else "error"
    detail, hint = to_one_line(wrong.detail), to_one_line(wrong.hint)
    return locate_fault(Fault(path, wrong.rule, detail, hint, level), place)


class _Composer:
    """One file being turned into values."""

    def __init__(self, text: TextFile, reading: ReadingState, path: FieldPath) -> None:
        self._text = text
        self._file = show_path(text.shown)
        self._reading = reading
        self._top = path
        self._anchors: dict[str, ComposedValue | None] = {}
        source = text.text.translate(_BREAKS)
        self._changed = source != text.text
        self._source = source

    def built(self) -> ComposedValue:
        """The one value of the file; Halt if it cannot be had."""
        if (odd := find_bad_character(self._text.text)) is not None:
            raise self._halted(odd)
        try:
            self._parser = _parser(self._source)
            try:
                return self._document()
            finally:
                self._parser.dispose()
        except yaml.YAMLError as error:
            raise self._halted(explain_yaml_error(error, self._source)) from error

    def _document(self) -> ComposedValue:
        self._parser.get_event()  # the start of the stream
        event = self._parser.get_event()
        if isinstance(event, DocumentStartEvent):
            event = self._parser.get_event()
        if isinstance(event, StreamEndEvent) or _is_nothing(event):
            raise self._halted(Mistake("empty", "the file is empty", "", 1, 1))
        built = self._node(event, self._top)
        self._parser.get_event()  # the end of the document
        last = self._parser.get_event()
        if not isinstance(last, StreamEndEvent):
            wrong = Mistake(
                "many_documents",
                "expected one document, another begins here",
                "remove the `---`, or put it into a file of its own",
            )
            self._reading.report(self._place(last), wrong, ())
        return built

    def _node(self, event: Any, path: FieldPath, *, key: Any = None) -> ComposedValue:
        """The value that begins with this event; `key` is its key, if a mapping's."""
        if isinstance(event, ScalarEvent):
            built = self._scalar(event, path, key)
        elif isinstance(event, AliasEvent):
            return self._alias(event, path)
        else:
            if event.anchor is not None:
                self._anchors[event.anchor] = None
            built = self._collection(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = built
        return built

    def _alias(self, event: Any, path: FieldPath) -> ComposedValue:
        place = self._place(event)
        if event.anchor not in self._anchors:
            known = nearest(event.anchor, list(self._anchors))
            hint = f"did you mean `*{known}`?" if known else "an anchor is set with `&` before"
            wrong = Mistake("unknown_alias", f"no anchor is called `{event.anchor}`", hint)
        elif (built := self._anchors[event.anchor]) is None:
            wrong = Mistake("recursive_alias", f"`*{event.anchor}` stands inside its own anchor")
        else:
            self._reading.repeat(built, place, path)
            return built._replace(mark=built.mark.under(None, value=place))
        return self._lost(place, wrong, path)

    def _collection(self, event: CollectionStartEvent, path: FieldPath) -> ComposedValue:
        place = self._place(event)
        if len(path) >= MAX_DEPTH:
            raise StopReading(problem_at(place, TOO_DEEP, path))
        if event.tag not in {None, "!", _FOR[type(event)]}:
            self._unknown_tag(event, path)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(place, path)
        return self._mapping(place, path)

    def _sequence(self, place: Place, path: FieldPath) -> ComposedValue:
        data: list[Any] = []
        children: dict[str | int, Mark] = {}
        size, height = 1, 0
        while not isinstance(event := self._parser.get_event(), SequenceEndEvent):
            number = len(data)
            built = self._node(event, (*path, number))
            data.append(built.data)
            children[number] = built.mark
            size += built.size
            height = max(height, built.height)
        return ComposedValue(data, Mark(place, None, children), size, height + 1)

    def _mapping(self, place: Place, path: FieldPath) -> ComposedValue:
        data: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        mark = Mark(place)
        more: dict[str | int, Mark] = {}
        size, height = 1, 0
        while not isinstance(event := self._parser.get_event(), MappingEndEvent):
            if isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]:
                built = self._node(self._parser.get_event(), (*path, "<<"))
                self._merge(built, merged, more, path)
            else:
                at = self._place(event)
                key = self._key(event, path)
                below = (*path, "?" if key is _NO_KEY else key)
                built = self._node(self._parser.get_event(), below, key=key)
                if self._is_new(key, at, mark, path):
                    data[key] = built.data
                    mark.children[key] = built.mark.under(at)
            size += built.size
            height = max(height, built.height)
        if merged:
            data = merged | data
            mark.children = more | mark.children
        built = ComposedValue(data, mark, size, height + 1)
        return self._with_ref(built, path) if REF_KEY in data else built

    def _key(self, event: Any, path: FieldPath) -> Any:
        """The key that begins with this event; `_NO_KEY` if it is no scalar."""
        built = self._node(event, (*path, "?"))
        if not isinstance(built.data, list | dict):
            return str(built.data) if isinstance(built.data, str) else built.data
        if isinstance(event, MappingStartEvent):
            wrong = Mistake("bad_yaml", UNQUOTED, QUOTES)
        else:
            wrong = Mistake("bad_yaml", "expected a word as a key, got a list")
        self._lost(built.mark.value, wrong, path)
        return _NO_KEY

    def _is_new(self, key: Any, at: Place, mark: Mark, path: FieldPath) -> bool:
        if key is _NO_KEY:
            return False
        if (first := mark.children.get(key)) is None or first.key is None:
            return True
        wrong = Mistake(
            "duplicate_key", f"the key `{key}` is in line {first.key.line} and in line {at.line}"
        )
        self._reading.report(at, wrong, (*path, key))
        return False

    def _merge(
        self,
        built: ComposedValue,
        merged: dict[Any, Any],
        more: dict[str | int, Mark],
        path: FieldPath,
    ) -> None:
        """What `<<` brings; of several mappings the first that has a key gives it."""
        given = built.data if isinstance(built.data, list) else [built.data]
        for number, one in enumerate(given):
            mark = built.mark.children[number] if one is not built.data else built.mark
            if not isinstance(one, dict):
                kind = type_name(one)
                wrong = Mistake("bad_merge", f"expected a mapping after `<<`, got `{kind}`")
                self._reading.report(mark.value, wrong, path)
                continue
            for key, value in one.items():
                merged.setdefault(key, value)
                more.setdefault(key, mark.children[key])

    def _with_ref(self, built: ComposedValue, path: FieldPath) -> ComposedValue:
        """A mapping with a `$ref`: the file's values, and its own keys that the file has not."""
        data, children = dict(built.data), dict(built.mark.children)
        written, place = data.pop(REF_KEY), children.pop(REF_KEY).value
        found = self._reading.referred(written, self._text.path, place, path)
        if found is None:
            self._reading.unread.append(path)
        elif not data:
            return found
        elif not isinstance(found.data, dict):
            kind = type_name(found.data)
            wrong = Mistake(
                "bad_ref",
                f"expected a mapping in `{written}`, which is merged with other keys; got `{kind}`",
                "leave `$ref` alone in its mapping",
            )
            self._lost(place, wrong, path)
        else:
            for key in [key for key in data if key in found.data]:
                wrong = Mistake("overridden_key", f"`{key}` is also in `{written}`, which wins")
                at = children[key].key or place
                self._reading.report(at, wrong, (*path, key), warning=True)
            data |= found.data
            children |= found.mark.children
        size, height = (found.size, found.height) if found is not None else (0, 0)
        return ComposedValue(
            data,
            Mark(built.mark.value, None, children),
            built.size + size,
            max(built.height, height),
        )

    def _scalar(self, event: ScalarEvent, path: FieldPath, key: Any) -> ComposedValue:
        place = self._place(event)
        text = event.value.translate(_BACK) if self._changed else event.value
        if event.tag not in {None, "!", _STANDARD + "str"}:
            return self._tagged(event, text, place, path)
        if event.implicit[0] and event.tag is None:
            try:
                value = parse_scalar(text)
            except ValueError as error:
                return self._lost(place, Mistake("bad_number", str(error)), path)
            if not isinstance(value, str):
                return ComposedValue(value, Mark(place))
        written = Authored(text, file=self._text.shown, line=self._first_line(event))
        if text.startswith(INCLUDE_TAG):
            wrong = Mistake("quoted_include", "`!include` in quotes is a text", "remove the quotes")
            self._reading.report(place, wrong, path, warning=True)
        elif text.startswith("$") and key is not None and key not in _NOT_EXPANDED:
            written = self._expanded(written, place, path)
        return ComposedValue(written, Mark(place))

    def _expanded(self, written: Authored, place: Place, path: FieldPath) -> Authored:
        value, unset = expand_variables(written, self._reading.environment)
        for name in unset:
            wrong = Mistake(
                "unset_variable", f"the variable `{name}` is not set", "it is left as is"
            )
            self._reading.report(place, wrong, path, warning=True)
        if isinstance(value, ExpandedText):
            self._reading.current.variables.update(value.names)
        return value

    def _tagged(
        self, event: ScalarEvent, text: str, place: Place, path: FieldPath
    ) -> ComposedValue:
        if event.tag == INCLUDE_TAG:
            found = read_include(text, self._text.path)
            if isinstance(found, Authored):
                return ComposedValue(found, Mark(place))
            return self._lost(place, found, path)
        if event.tag not in SCALAR_TAGS:
            self._unknown_tag(event, path)
            return ComposedValue(None, Mark(place))
        try:
            return ComposedValue(parse_tagged(text, event.tag), Mark(place))
        except ValueError as error:
            return self._lost(place, Mistake("bad_tag", str(error)), path)

    def _unknown_tag(self, event: Any, path: FieldPath) -> None:
        tag = event.tag.replace(_STANDARD, "!!")
        if tag == INCLUDE_TAG:
            wrong = Mistake("bad_include", "expected the path of a file after `!include`")
        else:
            hint = (
                f"did you mean `{INCLUDE_TAG}`?"
                if nearest(tag, [INCLUDE_TAG])
                else f"the one tag is `{INCLUDE_TAG}`"
            )
            wrong = Mistake("unknown_tag", f"the tag `{tag}` is not known", hint)
        self._reading.report(self._place(event), wrong, path)
        self._reading.unread.append(path)

    def _first_line(self, event: Any) -> int:
        """The line of the first character of a text; after `|` and `>` it is the next one."""
        line: int = event.start_mark.line + 1
        if event.style not in {"|", ">"}:
            return line
        if event.anchor is not None or event.tag is not None:  # `|` may be below them
            start = event.start_mark.index
            head = _HEAD.match(self._source, start)
            line += self._source.count("\n", start, head.end()) if head else 0
        return line + 1

    def _place(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _lost(self, place: Place, wrong: Mistake, path: FieldPath) -> ComposedValue:
        """No value, because something is wrong."""
        self._reading.report(place, wrong, path)
        self._reading.unread.append(path)
        return ComposedValue(None, Mark(place))

    def _halted(self, mistake: Mistake) -> StopReading:
        place = Place(self._file, mistake.line, mistake.column)
        return StopReading(problem_at(place, mistake, self._top))


def _is_nothing(event: Any) -> bool:
    return isinstance(event, ScalarEvent) and event.implicit[0] and not event.value


def _parser(text: str) -> Any:
    """The parser in C, or, where PyYAML was built without it, the one in Python."""
    return yaml.CSafeLoader(text) if yaml.__with_libyaml__ else yaml.SafeLoader(text)
