"""From the parser's events to values and their places, file by file.

Built from events rather than by PyYAML's own constructor: so nothing recurses in C, nothing is
made that was not asked for, and a mistake costs one value instead of the file.
"""

import re
from typing import Any, Final

import yaml
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
from evalwright.lines import shown as printable
from evalwright.nearest import nearest
from evalwright.spec.documents import scalars
from evalwright.spec.documents.faults import kind_of_value
from evalwright.spec.documents.files import MOST_DEEP, TOO_DEEP, Built, Halt, Reading, problem_at
from evalwright.spec.documents.includes import REF, TAG, included
from evalwright.spec.documents.marks import Mark, Place
from evalwright.spec.documents.mistakes import QUOTES, UNQUOTED, Mistake, no_text, no_yaml
from evalwright.spec.documents.problems import Path
from evalwright.spec.documents.texts import NoText, Text
from evalwright.spec.documents.variables import Expanded, expand

_NOT_EXPANDED = (REF, "$provider")
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


def compose(text: Text, reading: Reading, path: Path) -> Built:
    """The values of a file; Halt if they cannot be had."""
    return _Composer(text, reading, path).built()


class _Composer:
    """One file being turned into values."""

    def __init__(self, text: Text, reading: Reading, path: Path) -> None:
        self._text = text
        self._file = printable(text.shown)
        self._reading = reading
        self._top = path
        self._anchors: dict[str, Built | None] = {}
        source = text.text.translate(_BREAKS)
        self._changed = source != text.text
        self._source = source

    def built(self) -> Built:
        """The one value of the file; Halt if it cannot be had."""
        if (odd := no_text(self._text.text)) is not None:
            raise self._halted(odd)
        try:
            self._parser = _parser(self._source)
            try:
                return self._document()
            finally:
                self._parser.dispose()
        except yaml.YAMLError as error:
            raise self._halted(no_yaml(error, self._source)) from error

    def _document(self) -> Built:
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
            wrong = NoText(
                "many_documents",
                "expected one document, another begins here",
                "remove the `---`, or put it into a file of its own",
            )
            self._reading.report(self._place(last), wrong, ())
        return built

    def _node(self, event: Any, path: Path, *, key: Any = None) -> Built:
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

    def _alias(self, event: Any, path: Path) -> Built:
        place = self._place(event)
        if event.anchor not in self._anchors:
            known = nearest(event.anchor, list(self._anchors))
            hint = f"did you mean `*{known}`?" if known else "an anchor is set with `&` before"
            wrong = NoText("unknown_alias", f"no anchor is called `{event.anchor}`", hint)
        elif (built := self._anchors[event.anchor]) is None:
            wrong = NoText("recursive_alias", f"`*{event.anchor}` stands inside its own anchor")
        else:
            self._reading.repeat(built, place, path)
            return built._replace(mark=built.mark.under(None, value=place))
        return self._lost(place, wrong, path)

    def _collection(self, event: CollectionStartEvent, path: Path) -> Built:
        place = self._place(event)
        if len(path) >= MOST_DEEP:
            raise Halt(problem_at(place, TOO_DEEP, path))
        if event.tag not in {None, "!", _FOR[type(event)]}:
            self._unknown_tag(event, path)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(place, path)
        return self._mapping(place, path)

    def _sequence(self, place: Place, path: Path) -> Built:
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
        return Built(data, Mark(place, None, children), size, height + 1)

    def _mapping(self, place: Place, path: Path) -> Built:
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
        built = Built(data, mark, size, height + 1)
        return self._with_ref(built, path) if REF in data else built

    def _key(self, event: Any, path: Path) -> Any:
        """The key that begins with this event; `_NO_KEY` if it is no scalar."""
        built = self._node(event, (*path, "?"))
        if not isinstance(built.data, list | dict):
            return str(built.data) if isinstance(built.data, str) else built.data
        if isinstance(event, MappingStartEvent):
            wrong = NoText("bad_yaml", UNQUOTED, QUOTES)
        else:
            wrong = NoText("bad_yaml", "expected a word as a key, got a list")
        self._lost(built.mark.value, wrong, path)
        return _NO_KEY

    def _is_new(self, key: Any, at: Place, mark: Mark, path: Path) -> bool:
        if key is _NO_KEY:
            return False
        if (first := mark.children.get(key)) is None or first.key is None:
            return True
        wrong = NoText(
            "duplicate_key", f"the key `{key}` is in line {first.key.line} and in line {at.line}"
        )
        self._reading.report(at, wrong, (*path, key))
        return False

    def _merge(
        self, built: Built, merged: dict[Any, Any], more: dict[str | int, Mark], path: Path
    ) -> None:
        """What `<<` brings; of several mappings the first that has a key gives it."""
        given = built.data if isinstance(built.data, list) else [built.data]
        for number, one in enumerate(given):
            mark = built.mark.children[number] if one is not built.data else built.mark
            if not isinstance(one, dict):
                kind = kind_of_value(one)
                wrong = NoText("bad_merge", f"expected a mapping after `<<`, got `{kind}`")
                self._reading.report(mark.value, wrong, path)
                continue
            for key, value in one.items():
                merged.setdefault(key, value)
                more.setdefault(key, mark.children[key])

    def _with_ref(self, built: Built, path: Path) -> Built:
        """A mapping with a `$ref`: the file's values, and its own keys that the file has not."""
        data, children = dict(built.data), dict(built.mark.children)
        written, place = data.pop(REF), children.pop(REF).value
        found = self._reading.referred(written, self._text.path, place, path)
        if found is None:
            self._reading.unread.append(path)
        elif not data:
            return found
        elif not isinstance(found.data, dict):
            kind = kind_of_value(found.data)
            wrong = NoText(
                "bad_ref",
                f"expected a mapping in `{written}`, which is merged with other keys; got `{kind}`",
                "leave `$ref` alone in its mapping",
            )
            self._lost(place, wrong, path)
        else:
            for key in [key for key in data if key in found.data]:
                wrong = NoText("overridden_key", f"`{key}` is also in `{written}`, which wins")
                at = children[key].key or place
                self._reading.report(at, wrong, (*path, key), warning=True)
            data |= found.data
            children |= found.mark.children
        size, height = (found.size, found.height) if found is not None else (0, 0)
        return Built(
            data,
            Mark(built.mark.value, None, children),
            built.size + size,
            max(built.height, height),
        )

    def _scalar(self, event: ScalarEvent, path: Path, key: Any) -> Built:
        place = self._place(event)
        text = event.value.translate(_BACK) if self._changed else event.value
        if event.tag not in {None, "!", _STANDARD + "str"}:
            return self._tagged(event, text, place, path)
        if event.implicit[0] and event.tag is None:
            try:
                value = scalars.plain(text)
            except ValueError as error:
                return self._lost(place, NoText("bad_number", str(error)), path)
            if not isinstance(value, str):
                return Built(value, Mark(place))
        written = Authored(text, file=self._text.shown, line=self._first_line(event))
        if text.startswith(TAG):
            wrong = NoText("quoted_include", "`!include` in quotes is a text", "remove the quotes")
            self._reading.report(place, wrong, path, warning=True)
        elif text.startswith("$") and key is not None and key not in _NOT_EXPANDED:
            written = self._expanded(written, place, path)
        return Built(written, Mark(place))

    def _expanded(self, written: Authored, place: Place, path: Path) -> Authored:
        value, unset = expand(written, self._reading.environment)
        for name in unset:
            wrong = NoText(
                "unset_variable", f"the variable `{name}` is not set", "it is left as is"
            )
            self._reading.report(place, wrong, path, warning=True)
        if isinstance(value, Expanded):
            self._reading.variables.update(value.names)
        return value

    def _tagged(self, event: ScalarEvent, text: str, place: Place, path: Path) -> Built:
        if event.tag == TAG:
            found = included(text, self._text.path)
            if isinstance(found, Authored):
                return Built(found, Mark(place))
            return self._lost(place, found, path)
        if event.tag not in scalars.TYPES:
            self._unknown_tag(event, path)
            return Built(None, Mark(place))
        try:
            return Built(scalars.tagged(text, event.tag), Mark(place))
        except ValueError as error:
            return self._lost(place, NoText("bad_tag", str(error)), path)

    def _unknown_tag(self, event: Any, path: Path) -> None:
        tag = event.tag.replace(_STANDARD, "!!")
        if tag == TAG:
            wrong = NoText("bad_include", "expected the path of a file after `!include`")
        else:
            hint = f"did you mean `{TAG}`?" if nearest(tag, [TAG]) else f"the one tag is `{TAG}`"
            wrong = NoText("unknown_tag", f"the tag `{tag}` is not known", hint)
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

    def _lost(self, place: Place, wrong: NoText, path: Path) -> Built:
        """No value, because something is wrong."""
        self._reading.report(place, wrong, path)
        self._reading.unread.append(path)
        return Built(None, Mark(place))

    def _halted(self, mistake: Mistake) -> Halt:
        place = Place(self._file, mistake.line, mistake.column)
        return Halt(
            problem_at(place, NoText(mistake.rule, mistake.detail, mistake.hint), self._top)
        )


def _is_nothing(event: Any) -> bool:
    return isinstance(event, ScalarEvent) and event.implicit[0] and not event.value


def _parser(text: str) -> Any:
    """The parser in C, or, where PyYAML was built without it, the one in Python."""
    return yaml.CSafeLoader(text) if yaml.__with_libyaml__ else yaml.SafeLoader(text)
