"""Templates: Jinja in a hardened sandbox; text for prompts, native values for filters.

    Template("Q: {{ sample.question }}").render(sample=row)       text
    Native("{{ sample.score }}").evaluate(sample=row)             the value itself

Promises:  a template changes only values that it creates, and loads nothing; it is compiled once;
           a value that contains `{{ }}` stays data; a column named `items` is the column; its cost
           is bounded (`bounds`); every failure is a ValueError of one line, with the template's
           line.
Does not:  bound the time of a regular expression that the author wrote.

A text is kept as written, except for one newline at its very end, which Jinja removes from the
blocks of YAML.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from jinja2 import TemplateError, UndefinedError, nodes
from jinja2.meta import find_undeclared_variables

from evalwright.templates.environment import NATIVE, TEXT, Missing, Text, native, read_literal
from evalwright.templates.explain import BROKEN_SYNTAX, explain_failure, explain_syntax
from evalwright.templates.mutable import MUTABLE_NATIVE, MUTABLE_TEXT, changes_values, copy_values
from evalwright.templates.paths import Path, paths

if TYPE_CHECKING:
    from jinja2 import Template as Compiled
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

__all__ = ["Native", "NotThere", "Template", "read_literal"]

_FAILURES = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions of an expression: its own mistakes, and those of the data."""


class NotThere(ValueError):
    """A template refers to something that does not exist."""


class _Source:
    """The base of both kinds: a source that is compiled once, and pydantic's hooks."""

    __slots__ = ("_changes_values", "_compiled", "file", "line", "source")
    _environment: Text = TEXT

    def __init__(self, source: str) -> None:
        """Compile it; ValueError, with the line, if it is not valid Jinja."""
        self.source = str(source)
        # A text that knows its place in a document counts its lines as the document does.
        self.line = max(getattr(source, "line", 1), 1)
        self.file = getattr(source, "file", "")
        try:
            self._compiled, self._changes_values = _compile(self.source, self._environment)
        except (TemplateError, *BROKEN_SYNTAX) as error:
            raise ValueError(explain_syntax(error, self.line)) from error

    def variables(self) -> frozenset[Path]:
        """The paths that it requires: `{("sample", "question"), ("messages",)}`."""
        return _paths(self.source)

    def names(self) -> frozenset[str]:
        """The variables that it mentions, required or not."""
        return _names(self.source)

    def _explain(self, error: Exception, variables: Mapping[str, Any]) -> ValueError:
        message = explain_failure(error, self, variables)
        return (NotThere if isinstance(error, UndefinedError) else ValueError)(message)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source,)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: "GetCoreSchemaHandler"
    ) -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls._parse,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda template: template.source
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        return {"type": "string"}

    @classmethod
    def _parse(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise ValueError(f"expected text, got `{type(value).__name__}`")  # noqa: TRY004 - pydantic collects ValueErrors
        return cls(value)


class Template(_Source):
    """Text with `{{ }}`."""

    __slots__ = ()

    def render(self, /, **variables: Any) -> str:
        """Return the text rendered with these variables; ValueError if that fails."""
        return self._render(self._compiled, variables)

    def render_values(self, /, **variables: Any) -> str:
        """Return only what values contribute to the text, with line breaks between them."""
        return self._render(_compile(self.source, TEXT, values_only=True)[0], variables)

    def _render(self, compiled: "Compiled", variables: dict[str, Any]) -> str:
        try:
            if self._changes_values:
                variables = copy_values(variables, self.names())
            return TEXT.concat(compiled.root_render_func(compiled.new_context(variables)))
        except _FAILURES as error:
            raise self._explain(error, variables) from error


class Native(_Source):
    """An expression in `{{ }}` that keeps the type of its value.

    A single `{{ }}` gives its object. A string, and text with `{{ }}`, is read as a Python
    literal if it is one: `"3"` is 3, `"True"` is True.
    """

    __slots__ = ()
    _environment = NATIVE

    def evaluate(self, /, **variables: Any) -> Any:
        """Return the value; NotThere if it does not exist."""
        return read_literal(self.raw(**variables))

    def raw(self, /, **variables: Any) -> Any:
        """Return the value before a string is read as a literal."""
        compiled = self._compiled
        try:
            if self._changes_values:
                variables = copy_values(variables, self.names())
            value = native(compiled.root_render_func(compiled.new_context(variables)))
            if isinstance(value, Missing):
                str(value)  # raises what a use of it would raise
        except _FAILURES as error:
            raise self._explain(error, variables) from error
        return value


@lru_cache(maxsize=4096)
def _compile(
    source: str, environment: Text, *, values_only: bool = False
) -> tuple["Compiled", bool]:
    """Return the compiled template, and whether it changes lists or dicts.

    With `values_only`, each piece of the author's own text becomes a line break.
    """
    tree = environment.parse(source)
    for text in tree.find_all(nodes.TemplateData) if values_only else ():
        text.data = "\n"
    if has_changes := changes_values(tree):
        environment = _MUTABLE[environment]
    compiled = environment.from_string(tree)
    # Jinja copies them for each render, and a chain of maps slowly.
    compiled.globals = dict(compiled.globals)
    return compiled, has_changes


_MUTABLE: dict[Text, Text] = {TEXT: MUTABLE_TEXT, NATIVE: MUTABLE_NATIVE}


@lru_cache(maxsize=4096)
def _names(source: str) -> frozenset[str]:
    return frozenset(find_undeclared_variables(TEXT.parse(source)))


@lru_cache(maxsize=4096)
def _paths(source: str) -> frozenset[Path]:
    return paths(TEXT.parse(source))
