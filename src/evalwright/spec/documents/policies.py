"""Where policies stand: in a run file, or in files of their own.

    policies:                       a run file, or a file for `evalwright gate --policy`
      - $ref: policies/release.yaml
      - { key: speed, rules: [...] }

A file may also be one policy, or a list of policies. What `$ref` leads to may be any of these.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from evalwright.lines import STDIN
from evalwright.spec.documents.check import built, placed
from evalwright.spec.documents.faults import Fault, did_you_mean, kind_of_value, listed
from evalwright.spec.documents.kinds import kind_of
from evalwright.spec.documents.marks import Place
from evalwright.spec.documents.policy import PolicyDocument, policy_rules
from evalwright.spec.documents.problems import Path, Problem
from evalwright.spec.documents.reading import Document, read_document
from evalwright.spec.documents.run_file import RunFile

_LIST = "policies"
_STDIN = "/dev/stdin"
_PLACEHOLDER = re.compile(r"<<\s*(config|secrets)\.[A-Za-z0-9_\-]+\s*>>")


class Written(Struct, frozen=True):
    """A policy, and where it stands."""

    document: PolicyDocument
    raw: Document
    path: Path
    """In the data of its file."""

    def problem(self, fault: Fault) -> Problem:
        """A fault of it, at its place."""
        marks = self.raw.marks.below(self.path)
        (found,) = placed([fault], marks, None, below=_below(self.raw, self.path))
        return found


class Policies(NamedTuple):
    """All that were found, and all that is wrong with them."""

    found: list[Written]
    problems: list[Problem]
    files: list[str]


def read_policies(paths: Iterable[str], *, environment: Mapping[str, str]) -> Policies:
    """The policies of some files: of policies alone, or run files, of which only these are read.

    `-` is the standard input. Each is read once, so it may be a pipe.
    """
    found: list[Written] = []
    problems: list[Problem] = []
    files: dict[str, None] = {}
    documents: list[Document] = []
    for path in dict.fromkeys(paths):
        document = read_document(_STDIN if path == STDIN else path, environment=environment)
        files.update(dict.fromkeys(document.files))
        problems += document.problems
        if document.data is None and () in document.unread:
            continue
        documents.append(document)
        written, wrong = policies_in(document)
        if kind_of(document.data) == "run":
            wrong += _of_run_file(document, found=bool(written or wrong))
        found += written
        problems += wrong
    found = list({_place(one.raw, one.path): one for one in found}.values())
    return Policies(found, [*problems, *taken_keys(documents)], list(files))


def _of_run_file(document: Document, *, found: bool) -> list[Problem]:
    """What is wrong with a run file that is to bring policies."""
    faults = list(_unknown_keys(document.data, (), tuple(RunFile.model_fields)))
    if not faults and not found and not document.problems:
        faults = [_none(document.data)]
    return placed(faults, document.marks, document.data)


def policies_in(document: Document) -> tuple[list[Written], list[Problem]]:
    """The policies of a file that has been read, and what is wrong with them."""
    faults: list[Fault] = []
    kind = kind_of(document.data)
    if kind not in {"policy", "run", None}:
        fault = Fault((), "wrong_kind", f"expected policies, got a document of the kind `{kind}`")
        return [], placed([fault], document.marks, document.data)
    data, start = _policies_of(document)
    found: list[Written] = []
    problems: list[Problem] = []
    for path, one in _each(data, start, faults):
        policy, wrong = built(PolicyDocument, one)
        unfilled = list(_placeholders(one, ()))
        known = {fault.path for fault in unfilled}
        wrong = [*(fault for fault in wrong if fault.path not in known), *unfilled]
        wrong += policy_rules(one)
        marks = document.marks.below(path)
        unread = [way[len(path) :] for way in document.unread if way[: len(path)] == path]
        problems += placed(wrong, marks, one, below=_below(document, path), unread=unread)
        if policy is not None:
            found.append(Written(policy, document, path))
    if kind != "run" and not (found or problems or faults or document.problems):
        faults = [_none(document.data)]
    problems += placed(faults, document.marks, document.data, unread=document.unread)
    return found, problems


def taken_keys(documents: Iterable[Document]) -> Iterator[Problem]:
    """The keys that two policies have, whatever else is wrong with either."""
    first: dict[str, Place] = {}
    for document in documents:
        data, start = _policies_of(document)
        for path, one in _each(data, start, []):
            key, place = one.get("key"), _place(document, path)
            if not isinstance(key, str):
                continue
            known = first.setdefault(key, place)
            if known != place:
                detail = f"the key `{key}` is that of another policy, at {known.file}:{known.line}"
                fault = Fault(("key",), "duplicate_key", detail, "give one of them another key")
                marks = document.marks.below(path)
                yield from placed([fault], marks, None, below=_below(document, path))


def _policies_of(document: Document) -> tuple[Any, Path]:
    """The value of a file that has the policies, and where it stands; none of another kind."""
    kind = kind_of(document.data)
    if kind == "run":
        return document.data.get(_LIST), (_LIST,)
    return (document.data if kind in {"policy", None} else []), ()


def _place(document: Document, path: Path) -> Place:
    return document.marks.place((*path, "key"))


def _below(document: Document, path: Path) -> Path:
    """What is in a file of its own begins there."""
    elsewhere = document.marks.place((*path, "key")).file != document.file
    return () if elsewhere else path


def _each(value: Any, path: Path, faults: list[Fault]) -> Iterator[tuple[Path, Any]]:
    """Every policy in a value: one, a list, or a mapping with `policies`."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _each(one, (*path, number), faults)
    elif isinstance(value, dict) and _LIST in value:
        faults += _unknown_keys(value, path, (_LIST,))
        yield from _each(value[_LIST], (*path, _LIST), faults)
    elif isinstance(value, dict):
        yield path, value
    elif value is not None or path[-1:] != (_LIST,):
        got = kind_of_value(value)
        faults.append(
            Fault(path, "wrong_type", f"expected a policy, or a list of them, got `{got}`")
        )


def _unknown_keys(value: dict[str, Any], path: Path, known: tuple[str, ...]) -> Iterator[Fault]:
    """What a file has beside its policies, and should not have."""
    for key in value:
        if key not in known:
            detail = f"unknown key `{key}`; expected {listed(known)}"
            hint = did_you_mean(str(key), known)
            yield Fault((*path, key), "unknown_key", detail, hint, at_key=True)


def _placeholders(value: Any, path: Path) -> Iterator[Fault]:
    """Texts that stand for a configuration, which policies have none of."""
    if isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
        yield Fault(
            path,
            "no_config",
            f"a policy has no configuration, so `{found.group()}` stands for nothing here",
            "write the value itself, or a variable of the environment: `$NAME`",
        )
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from _placeholders(one, (*path, key))


def _none(data: Any) -> Fault:
    keys = ", ".join(f"`{key}`" for key in data) if isinstance(data, dict) else ""
    got = f"; it has {keys}" if keys else ""
    detail = f"expected policies, there are none{got}"
    return Fault((), "no_policy", detail, "a policy has a `key` and `rules`")
