"""Replace `<< config.name >>` and `<< secrets.name >>` in a document.

    max_iterations: << config.turns >>           the whole text: the value itself, an int here
    ground_truth: << config.turns >>             unless the field is a text: written out
    prompt: "{{ sample.<< config.column >> }}"   part of a text: written out

This holds everywhere, also inside Jinja and Python. Written out, `True`, `False` and `None` are
spelt as in those two, numbers as Python prints them, lists and mappings as JSON. A value is not
searched for placeholders again.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from evalwright.components import Authored
from evalwright.lines import show_path
from evalwright.nearest import nearest
from evalwright.secrets import Secret
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Marks,
    Place,
    locate_fault,
    to_one_line,
)
from evalwright.types import Issue

_NAME = r"[A-Za-z0-9_\-]+"
_CONFIG = re.compile(rf"<<\s*config\.({_NAME})\s*>>")
_SECRET = re.compile(rf"\s*<<\s*secrets\.({_NAME})\s*>>\s*")
_SECRETS_GO = "secrets go into keys, headers, environments and certificates of models"
_ALMOST = re.compile(
    r"(?P<open><{1,2})\s*(?P<space>[A-Za-z_]\w*)\s*(?P<dot>\.?)\s*(?P<name>[A-Za-z0-9_\-]*)"
    r"(?:[^<>\n]{0,40}?(?P<close>>{1,2}))?"
)
_SPACES = ("config", "secrets")
_FORM = "a placeholder is written `<< config.name >>`"


class FoundPlaceholder(NamedTuple):
    """A placeholder, and where in the data it stands."""

    path: FieldPath
    name: str


def find_placeholders(data: Any, path: FieldPath = ()) -> list[FoundPlaceholder]:
    """Every placeholder in a document, in order; one that stands twice is there twice."""
    return [
        FoundPlaceholder(at, found[1])
        for at, text in _texts(data, path)
        for found in _CONFIG.finditer(text)
    ]


def placeholder_name(text: Any) -> str | None:
    """The name of the placeholder that is the whole text; None if it is anything else."""
    whole = _CONFIG.fullmatch(text.strip()) if isinstance(text, str) else None
    return whole[1] if whole else None


def can_be_named(key: str) -> bool:
    """Whether a placeholder can name a parameter of this key."""
    return re.fullmatch(_NAME, key) is not None


def substitute_values(
    data: Any, values: Mapping[str, Any], *, marks: Marks | None = None, at: FieldPath = ()
) -> tuple[Any, list[Issue]]:
    """The data with the values in place of their placeholders, and what is wrong with those.

    `at` is where the data stand in the document of the marks. What is not declared is left as it
    is. The data that came in are not changed.
    """
    work = _Substitution(values, marks)
    return work.value(data, at), work.problems


def resolve_secrets(
    data: Any,
    secrets: Mapping[str, str | Secret],
    *,
    allowed: Callable[[FieldPath], bool],
    marks: Marks | None = None,
    at: FieldPath = (),
) -> tuple[Any, list[Issue]]:
    """The data with a `Secret` in place of every `<< secrets.name >>`, and what is wrong.

    Only a whole text is one, and only where `allowed` says so of its path; a malformed one is a
    literal text, with a warning.
    """
    work = _Secrets(secrets, marks, allowed)
    return work.value(data, at), work.problems


def forbid_secrets(data: Any, marks: Marks) -> list[Issue]:
    """A problem for every `<< secrets.name >>` of a document that may have none, also in a text."""
    work = _NoSecrets(marks)
    work.value(data, ())
    return work.problems


def merge_secrets(
    *maps: tuple[Mapping[str, Any], Marks, FieldPath],
) -> tuple[dict[str, str | Secret], list[Issue]]:
    """The `secrets:` of several documents as one; each comes with its marks and its path there.

    One name with two different values is an error.
    """
    gathered: dict[str, str | Secret] = {}
    first: dict[str, Place] = {}
    problems: list[Issue] = []
    for secrets, marks, path in maps:
        for name, value in secrets.items():
            below = (*path, name)
            place = marks.key_place(below)
            if name not in gathered:
                gathered[name], first[name] = value, place
            elif _revealed(gathered[name]) != _revealed(value):
                other = first[name]
                problems.append(
                    _issue(
                        place,
                        below,
                        rule="two_secrets",
                        detail=f"the secret `{name}` has another value in "
                        f"{other.file}:{other.line}",
                        hint="give one of them another name",
                    )
                )
    return gathered, problems


class _Walk(ABC):
    """Makes new data of old, text by text."""

    def __init__(self, marks: Marks | None) -> None:
        self.problems: list[Issue] = []
        self._marks = marks

    def value(self, data: Any, path: FieldPath) -> Any:
        if isinstance(data, str):
            return self.text(data, path) if "<" in data else data
        if isinstance(data, dict):
            made: dict[Any, Any] = {}
            for key, one in data.items():
                below = (*path, key)
                name = self.key(key, below) if isinstance(key, str) and "<" in key else key
                if name in made:
                    detail = f"the key `{name}` is there twice, once by a placeholder"
                    self.report(key, 0, below, rule="duplicate_key", detail=detail)
                made[name] = self.value(one, below)
            return made
        if isinstance(data, list):
            return [self.value(one, (*path, number)) for number, one in enumerate(data)]
        return data

    @abstractmethod
    def text(self, text: str, path: FieldPath) -> Any:
        """What a text becomes."""

    def key(self, key: str, path: FieldPath) -> str:  # noqa: ARG002 - for who replaces keys too
        return key

    def report(self, text: str, start: int, path: FieldPath, **said: Any) -> None:
        """Note what is wrong at a character of a text."""
        place = self._marks.place(path) if self._marks is not None else Place("", 1)
        if isinstance(text, Authored) and text.line:
            line = text.line + text.count("\n", 0, start)
            if (text.file, line) != (place.file, place.line):
                place = Place(show_path(text.file), line)
        self.problems.append(_issue(place, path, **said))


class _Substitution(_Walk):
    def __init__(self, values: Mapping[str, Any], marks: Marks | None) -> None:
        super().__init__(marks)
        self._values = values

    def text(self, text: str, path: FieldPath) -> Any:
        self._suspect(text, path)
        if (name := placeholder_name(text)) is None:
            return _like(text, self._written(text, path))
        if name not in self._values:
            self._undeclared(text, 0, name, path)
            return text
        value = self._values[name]
        if not isinstance(value, str) or (isinstance(value, Authored) and value.file):
            return value  # it has a place of its own: where somebody wrote it
        return _like(text, value)

    def key(self, key: str, path: FieldPath) -> str:
        return str(self._written(key, path))

    def _written(self, text: str, path: FieldPath) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1] in self._values:
                return format_value(self._values[found[1]])
            self._undeclared(text, found.start(), found[1], path)
            return found[0]

        return _CONFIG.sub(value, text)

    def _undeclared(self, text: str, start: int, name: str, path: FieldPath) -> None:
        known = nearest(name, list(self._values))
        self.report(
            text,
            start,
            path,
            rule="undeclared_parameter",
            detail=f"the parameter `{name}` is not declared",
            hint=f"did you mean `<< config.{known} >>`?"
            if known
            else "declare it in `config_spec`",
        )

    def _suspect(self, text: str, path: FieldPath) -> None:
        """Warn of what was probably meant to be a placeholder."""
        rest = _CONFIG.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        for found in _ALMOST.finditer(rest):
            if hint := _meant(found, self._values):
                self.report(
                    text,
                    found.start(),
                    path,
                    rule="malformed_placeholder",
                    detail=f"`{found[0].strip()}` is left as it is: it is no placeholder",
                    hint=hint,
                    level="warning",
                )


class _Secrets(_Walk):
    def __init__(
        self,
        secrets: Mapping[str, str | Secret],
        marks: Marks | None,
        allowed: Callable[[FieldPath], bool],
    ) -> None:
        super().__init__(marks)
        self._secrets = secrets
        self._allowed = allowed

    def text(self, text: str, path: FieldPath) -> Any:
        if (whole := _SECRET.fullmatch(text)) is None:
            if "secrets." in text and "<<" in text:
                self._literal(text, path)
            return text
        name = whole[1]
        if not self._allowed(path):
            self.report(
                text,
                0,
                path,
                rule="secret_not_allowed",
                detail=f"the secret `{name}` may not stand here",
                hint=_SECRETS_GO,
            )
        elif name not in self._secrets:
            known = nearest(name, list(self._secrets))
            self.report(
                text,
                0,
                path,
                rule="unknown_secret",
                detail=f"no secret is called `{name}`",
                hint=f"did you mean `{known}`?" if known else "give it a value under `secrets:`",
            )
        else:
            return Secret(_revealed(self._secrets[name]), declared=True)
        return text

    def _literal(self, text: str, path: FieldPath) -> None:
        self.report(
            text,
            0,
            path,
            rule="malformed_placeholder",
            detail="a text with `secrets.` in it is left as it is: it is no placeholder",
            hint="write `<< secrets.NAME >>`, and nothing beside it",
            level="warning",
        )


class _NoSecrets(_Walk):
    def text(self, text: str, path: FieldPath) -> Any:
        for found in _SECRET.finditer(text):
            start = found.start() + found[0].index("<<")
            detail = f"the secret `{found[1]}` may not stand here"
            rule = "secret_not_allowed"
            self.report(text, start, path, rule=rule, detail=detail, hint=_SECRETS_GO)
        return text


def _texts(data: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, one in data.items():
            if isinstance(key, str):
                yield (*path, key), key
            yield from _texts(one, (*path, key))
    elif isinstance(data, list):
        for number, one in enumerate(data):
            yield from _texts(one, (*path, number))


def _meant(found: re.Match[str], declared: Mapping[str, Any]) -> str:
    """What to write instead; nothing if it is something else, as a comparison or a shift."""
    space, name, close = found["space"], found["name"], found["close"] or ""
    if space == "config" and found["dot"]:
        wide = len(found["open"]) > 1 or len(close) > 1
        return (f"write `<< config.{name} >>`" if name in declared else _FORM) if wide else ""
    if len(found["open"]) + len(close) < len("<<>>") or space in _SPACES[1:]:
        return ""
    if not found["dot"]:
        if space in declared and not name:
            return f"write `<< config.{space} >>`"
        return _FORM if space == "config" else ""
    known = nearest(space, _SPACES)
    return f"did you mean `<< {known}.{name} >>`?" if known else ""


def _like(text: str, other: str) -> str:
    return text.like(other) if isinstance(text, Authored) else other


def format_value(value: Any) -> str:
    """A value, written out."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value)


def _revealed(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value)


def _issue(place: Place, path: FieldPath, *, detail: str, **said: Any) -> Issue:
    return locate_fault(Fault(path, detail=to_one_line(detail), **said), place)
