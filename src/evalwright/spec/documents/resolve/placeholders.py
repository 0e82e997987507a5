"""Replace `<< config.name >>` and `<< secrets.name >>` in a document.

    max_iterations: << config.turns >>           the whole string: the value itself, here an int
    ground_truth: << config.turns >>             the whole string in a text field: the value as text
    prompt: "{{ sample.<< config.column >> }}"   part of a string: the value as text

This applies everywhere, including Jinja and Python code. As text, `True`, `False` and `None` are
written as in Python, numbers as Python prints them, and lists and mappings as JSON. Inserted values
are not searched for placeholders.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from evalwright.components import Authored
from evalwright.nearest import nearest
from evalwright.secrets import Secret
from evalwright.spec.documents.checks.build import find_parts
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, to_one_line

_NAME = r"[A-Za-z0-9_\-]+"
_CONFIG = re.compile(rf"<<\s*config\.({_NAME})\s*>>")
_SECRET = re.compile(rf"\s*<<\s*secrets\.({_NAME})\s*>>\s*")
_SECRET_IN_TEXT = re.compile(rf"(<<\s*secrets\.({_NAME})\s*>>)")
_WHERE_SECRETS_GO = (
    "use secrets only in a model's keys, headers, environment and certificates, "
    "and in a generator's `python` synthesizers"
)
_ALMOST = re.compile(
    r"(?P<open><{1,2})\s*(?P<space>[A-Za-z_]\w*)\s*(?P<dot>\.?)\s*(?P<name>[A-Za-z0-9_\-]*)"
    r"(?:[^<>\n]{0,40}?(?P<close>>{1,2}))?"
)
_FORM = "write a placeholder as `<< config.name >>`"
_ReplaceText = Callable[[str, FieldPath], Any]


def find_placeholders(data: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield the path and name of every placeholder in a document, in order."""
    if isinstance(data, str):
        yield from ((path, name) for name in _CONFIG.findall(data))
    elif isinstance(data, dict):
        for key, value in data.items():
            if isinstance(key, str):
                yield from find_placeholders(key, (*path, key))
            yield from find_placeholders(value, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from find_placeholders(value, (*path, number))


def placeholder_name(text: Any) -> str | None:
    """Return the name of the placeholder if it is the whole string, otherwise None."""
    whole = _CONFIG.fullmatch(text.strip()) if isinstance(text, str) else None
    return whole[1] if whole else None


def is_placeholder_name(key: str) -> bool:
    """Whether a placeholder can refer to a parameter with this key."""
    return re.fullmatch(_NAME, key) is not None


def substitute_values(data: Any, values: Mapping[str, Any]) -> tuple[Any, list[Fault]]:
    """Replace the placeholders in a copy of the data, except those with undeclared names."""
    faults: list[Fault] = []

    def write_out(text: str, path: FieldPath, *, at_key: bool = False) -> str:
        def format_match(match: re.Match[str]) -> str:
            if match[1] in values:
                return format_value(values[match[1]])
            fault = _undeclared_parameter(match[1], path, values)
            line = 0 if at_key else _line_at(text, match.start())
            faults.append(fault._replace(at_key=at_key, line=line))
            return match[0]

        return _CONFIG.sub(format_match, text)

    def replace(text: str, path: FieldPath) -> Any:
        faults.extend(_warn_of_typos(text, path, values))
        name = placeholder_name(text)
        if name is None or name not in values:
            return _place_like(text, write_out(text, path))
        value = values[name]
        if not isinstance(value, str) or (isinstance(value, Authored) and value.file):
            return value  # the value keeps its place
        return _place_like(text, value)

    rename = partial(write_out, at_key=True)
    return _replace_texts(data, (), replace, rename, faults), faults


def resolve_secrets(
    data: Any, secrets: Mapping[str, str | Secret], *, allowed: Callable[[FieldPath], bool]
) -> tuple[Any, list[Fault]]:
    """Replace every `<< secrets.name >>` that is a whole string by a `Secret`.

    `allowed` tells at which paths secrets are allowed. A malformed placeholder is left unchanged,
    with a warning.
    """
    faults: list[Fault] = []

    def replace(text: str, path: FieldPath) -> Any:
        whole = _SECRET.fullmatch(text)
        if whole is None:
            if "secrets." in text and "<<" in text:
                detail = (
                    "this string contains `secrets.` but is not a placeholder; it is left unchanged"
                )
                hint = "write only `<< secrets.NAME >>`"
                fault = Fault(path, "malformed_placeholder", detail, hint, level="warning")
                faults.append(fault)
        elif not allowed(path):
            faults.append(_forbidden_secret(text, whole, path))
        elif whole[1] not in secrets:
            faults.append(_unknown_secret(whole[1], path, list(secrets)))
        else:
            return Secret(reveal_secret(secrets[whole[1]]), declared=True)
        return text

    return _replace_texts(data, (), replace, None, faults), faults


def find_secret_names(data: Any) -> Iterator[str]:
    """Yield the name of every `<< secrets.name >>` in a document."""
    for _, text in find_parts(data, str):
        for match in _SECRET.finditer(text) if "<<" in text else ():
            yield match[1]


def forbid_secrets(
    data: Any, *, allowed: Callable[[FieldPath], bool] = lambda _: False
) -> Iterator[Fault]:
    """Yield a fault for every `<< secrets.name >>` at a path where it is not allowed."""
    for path, text in find_parts(data, str):
        if allowed(path):
            continue
        for match in _SECRET.finditer(text) if "<<" in text else ():
            yield _forbidden_secret(text, match, path)


def find_secrets(text: str) -> list[tuple[str, str]]:
    """Return each distinct `<< secrets.name >>` in a string, as written and with its name."""
    return list(dict.fromkeys(_SECRET_IN_TEXT.findall(text)))


def find_unknown_secrets(
    data: Any, secrets: Iterable[str], *, at: Callable[[FieldPath], bool]
) -> Iterator[Fault]:
    """Yield a fault for every `<< secrets.name >>` at these paths without a value."""
    known = list(secrets)
    for path, text in find_parts(data, str):
        for match in _SECRET_IN_TEXT.finditer(text) if at(path) and "<<" in text else ():
            if match[2] not in known:
                fault = _unknown_secret(match[2], path, known)
                yield fault._replace(line=_line_at(text, match.start()))


def format_value(value: Any) -> str:
    """Format a value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value)


def reveal_secret(value: Any) -> str:
    """Return the text of a secret."""
    return value.reveal() if isinstance(value, Secret) else str(value)


def _replace_texts(
    data: Any,
    path: FieldPath,
    replace: _ReplaceText,
    rename: _ReplaceText | None,
    faults: list[Fault],
) -> Any:
    """Copy the data with changed strings and, with `rename`, changed keys."""
    if isinstance(data, str):
        return replace(data, path) if "<" in data else data
    if isinstance(data, list):
        return [
            _replace_texts(item, (*path, number), replace, rename, faults)
            for number, item in enumerate(data)
        ]
    if not isinstance(data, dict):
        return data
    copy: dict[Any, Any] = {}
    for key, value in data.items():
        below = (*path, key)
        name = rename(key, below) if rename and isinstance(key, str) and "<" in key else key
        if name in copy:
            detail = to_one_line(f"duplicate key `{name}` after replacing a placeholder")
            faults.append(Fault(below, "duplicate_key", detail, at_key=True))
        copy[name] = _replace_texts(value, below, replace, rename, faults)
    return copy


def _forbidden_secret(text: str, match: re.Match[str], path: FieldPath) -> Fault:
    line = _line_at(text, match.start() + match[0].index("<<"))
    detail = f"the secret `{match[1]}` is not allowed here"
    return Fault(path, "secret_not_allowed", detail, _WHERE_SECRETS_GO, line=line)


def _unknown_secret(name: str, path: FieldPath, known: list[str]) -> Fault:
    similar = nearest(name, known)
    command = f"`evalwright secret set {name}`"
    other = f"set its value under `secrets:`, in the environment, or with {command}"
    hint = f"did you mean `{similar}`?" if similar else other
    return Fault(path, "unknown_secret", f"unknown secret `{name}`", hint)


def _undeclared_parameter(name: str, path: FieldPath, values: Mapping[str, Any]) -> Fault:
    known = nearest(name, list(values))
    hint = f"did you mean `<< config.{known} >>`?" if known else "declare it in `config_spec`"
    return Fault(path, "undeclared_parameter", f"the parameter `{name}` is not declared", hint)


def _warn_of_typos(text: str, path: FieldPath, values: Mapping[str, Any]) -> Iterator[Fault]:
    rest = _CONFIG.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in _ALMOST.finditer(rest):
        if hint := _suggest_placeholder(match, values):
            detail = (
                f"`{to_one_line(match[0].strip())}` is not a placeholder, and is left unchanged"
            )
            line = _line_at(text, match.start())
            yield Fault(path, "malformed_placeholder", detail, hint, level="warning", line=line)


def _suggest_placeholder(match: re.Match[str], declared: Mapping[str, Any]) -> str:
    """Return a correction; empty for other text, such as a comparison or a shift."""
    space, name, close = match["space"], match["name"], match["close"] or ""
    if space == "config" and match["dot"]:
        is_wide = len(match["open"]) > 1 or len(close) > 1
        return (f"write `<< config.{name} >>`" if name in declared else _FORM) if is_wide else ""
    if len(match["open"]) + len(close) < len("<<>>") or space == "secrets":
        return ""
    if not match["dot"]:
        if space in declared and not name:
            return f"write `<< config.{space} >>`"
        return _FORM if space == "config" else ""
    known = nearest(space, ("config", "secrets"))
    return f"did you mean `<< {known}.{name} >>`?" if known else ""


def _place_like(text: str, other: str) -> str:
    return text.like(other) if isinstance(text, Authored) else other


def _line_at(text: str, start: int) -> int:
    """Return the line of a character in an author's string; 0 if unknown."""
    line = text.line if isinstance(text, Authored) else 0
    return line + text.count("\n", 0, start) if line else 0
