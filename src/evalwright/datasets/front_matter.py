"""The YAML that may stand before a text, between two lines of `---`.

    ---
    title: On tea
    ---
    Tea is…

Read as YAML 1.2 reads it: `yes` and `2024-01-01` are texts. What is no mapping is no front matter.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from evalwright.datasets.plain import plain

_PARTS = re.compile(
    r"---[ \t]*\r?\n(?P<matter>.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_MOST_CHARACTERS = 64 * 1024


def parted(text: str) -> tuple[dict[str, Any], str]:
    """Its front matter and the text after it; ValueError, on one line, if it is no YAML."""
    found = _PARTS.match(text) if text.startswith("---") else None
    if found is None:
        return {}, text
    matter = found["matter"]
    if len(matter) > _MOST_CHARACTERS:
        raise ValueError(f"longer than {_MOST_CHARACTERS >> 10} KiB")
    loaded = _loaded(matter)
    if loaded is not None and not isinstance(loaded, dict):
        return {}, text
    return loaded or {}, text[found.end() :]


def _loaded(matter: str) -> Any:
    try:
        return plain(yaml.load(matter, Loader=_Loader))  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2  # after the `---`
        raise ValueError(f"line {line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _Loader(yaml.SafeLoader):
    """The types of JSON and no others; a key that stands there twice is an error."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's way of a fresh start

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a few of them can hold a million values
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "an alias may not stand here", mark)
        return super().compose_node(parent, index)

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 - PyYAML's
    ) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            wrong = ""
            if not isinstance(key, yaml.ScalarNode):
                wrong = "a key must be a word"
            elif key.value in seen:
                wrong = f"the key `{key.value}` stands there twice"
            if wrong:
                raise yaml.constructor.ConstructorError(None, None, wrong, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9]{0,18}\.[0-9]+|[0-9]{1,18}\.?(?=[eE]))(?:[eE][-+]?[0-9]{1,2})?",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"(?:{_pattern})$"), list(_first)
    )
