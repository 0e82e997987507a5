"""What the parts of a task document are made of.

A component (a solver, a scorer, a metric, a rule, a source of data) is one frozen class. Its fields
are its YAML keys, its docstrings the reference page. A string that an author wrote keeps its place
(`Authored`), so that problems with a template or a snippet are reported at their place.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from inspect import cleandoc, getsource
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    StrictBool,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from evalwright.registry import find_failure, load_components
from evalwright.secrets import MASK, Secret

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue


Part = TypeVar("Part")

FOR_KEYS = {"for": "keys"}
"""Context of a dump that becomes part of a key: snippets then include the modules they import."""

_NOT_IN_KEYS = re.compile(r"[^a-z0-9_-]+")
_DASHES = re.compile(r"-{2,}")


USER_KEY = r"^[a-zA-Z0-9_\-]+$"
REFERENCED_KEY = r"^[a-zA-Z0-9_\-\$]+$"
LONGEST_KEY = 250

UserKey = Annotated[str, StringConstraints(pattern=USER_KEY, min_length=1, max_length=LONGEST_KEY)]
"""A key in a project: letters, digits, `_` and `-`."""
ReferencedKey = Annotated[
    str, StringConstraints(pattern=REFERENCED_KEY, min_length=1, max_length=LONGEST_KEY)
]
"""Key of a model or an adapter, which may be a provider's: `$` is allowed too."""
ModelKey = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY)]
"""How a task names a model: a key of the project, or `provider/model`."""
Title = Annotated[str, StringConstraints(min_length=1)]
"""Text that is displayed, so it must not be empty."""


class Authored(str):
    """A string in a document, with the place of its first character."""

    __slots__ = ("file", "line")

    file: str
    """The file that it is in; for included text, the included file."""
    line: int
    """From 1; 0 if unknown."""

    def __new__(cls, text: str, *, file: str = "", line: int = 0) -> Self:
        """Create one; without a file and a line it has no place."""
        authored = super().__new__(cls, text)
        authored.file = file
        authored.line = line
        return authored

    def like(self, text: str) -> "Authored":
        """Return another text with the same place."""
        return Authored(text, file=self.file, line=self.line)


def _keep_place(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    valid = validate(value)
    return value.like(valid) if isinstance(value, Authored) else valid


ColumnName = Annotated[str, StringConstraints(min_length=1), WrapValidator(_keep_place)]
"""The name of a column of a dataset. It keeps its place, for when no row has the column."""
OwnKey = Annotated[UserKey, WrapValidator(_keep_place)]
"""A key; `Authored` if the author wrote it, a plain string if it was generated."""


class Component(BaseModel):
    """A part of a document: frozen, unknown keys refused."""

    # Schemas are built on first use, when plugins can import whatever they need.
    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True
    )


_SPELLINGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _parse_flag(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (known := _SPELLINGS.get(value.lower())) is not None:
        return known
    raise ValueError(f"expected true or false (or yes, no, on, off), got `{value}`")


Flag = Annotated[
    StrictBool,
    BeforeValidator(_parse_flag),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "boolean"},
                {"enum": ["yes", "Yes", "no", "No", "on", "On", "off", "Off"]},
            ]
        }
    ),
]
"""A boolean field: `true`, `false`, and the older spellings of YAML, in any case."""


def _parse_secret(value: Any) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected text, got `{type(value).__name__}`")  # noqa: TRY004 - pydantic collects ValueErrors
    return Secret(str(value))


Hidden = Annotated[
    Secret,
    PlainValidator(_parse_secret),
    PlainSerializer(lambda _: MASK, return_type=str),
    WithJsonSchema({"type": "string"}),
]
"""A text that is never printed."""


class ComponentUnion:
    """The classes that are allowed at one place of a document, distinguished by `type`.

        AnyScorer = Annotated[ScorerSpec, ComponentUnion("scorers")]

    They are the built-ins and plugins of the registry. The union is built with the first schema
    that needs it, when every module is imported: a plugin may import any of ours.
    """

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def annotation(self) -> Any:
        """Return the union in the form that pydantic expects."""
        classes = tuple(load_components(self.kind).values())
        for component in classes:
            _build_schema(component)
        return Annotated[Union[classes], Field(discriminator="type")]  # noqa: UP007 - made at run time

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            self._refuse_broken, handler.generate_schema(self.annotation())
        )

    def _refuse_broken(self, value: Any) -> Any:
        name = value.get("type") if isinstance(value, dict) else None
        if isinstance(name, str) and (failure := find_failure(self.kind, name)):
            context = {"failure": str(failure), "hint": failure.plugin.advice}
            raise PydanticCustomError("broken_plugin", "{failure}", context)
        return value


_being_built: set[type[BaseModel]] = set()


def _build_schema(component: type[BaseModel]) -> None:
    """Build the schema of a class once, so that unions share it.

    A class may hold components of its own kind: the union in it must not begin again.
    """
    if component.__pydantic_complete__ or component in _being_built:
        return
    _being_built.add(component)
    try:
        component.model_rebuild()
    finally:
        _being_built.discard(component)


class _TextValue:
    """A value that is written as text."""

    __slots__ = ()
    _json_schema: ClassVar[dict[str, Any]] = {"type": "string"}

    @classmethod
    def _parse(cls, value: Any) -> Self:
        raise NotImplementedError

    def _dump(self, info: SerializationInfo) -> str:
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._parse,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls._dump, info_arg=True
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> "JsonSchemaValue":
        return dict(cls._json_schema)


class Snippet(_TextValue):
    """Python that an author wrote. It is compiled on reading and run in another process."""

    __slots__ = ("_digest", "key", "line", "path", "text")
    _json_schema: ClassVar[dict[str, Any]] = {"type": "string", "contentMediaType": "text/x-python"}

    def __init__(self, text: str, *, path: str = "<snippet>", line: int = 1) -> None:
        """Raise SyntaxError, with the author's line number, if it is not Python."""
        self.text, self.path, self.line = text, path, max(line, 1)
        ast.parse("\n" * (self.line - 1) + text, path)
        self.key = blake2b(f"{path}:{line}:{text}".encode(), digest_size=8).hexdigest()
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """Hash of the modules next to it that it imports; empty if there are none.

        Computed once, on first use. A module name that is only built when the snippet runs is
        not seen.
        """
        if self._digest is None:
            self._digest = _hash_files(dict(_find_neighbours(self.text, self.path)))
        return self._digest

    @property
    def text_for_keys(self) -> str:
        """Its part of a key: its text, and the hash of the modules it imports."""
        return f"{self.text}\n# with {self.digest}" if self.digest else self.text

    def function(self, name: str) -> str:
        """The name of one of its functions for the `Snippets` port."""
        return f"{self.key}:{name}"

    @contextmanager
    def locate_errors(self, function: str) -> Iterator[None]:
        """Make a ValueError about a function's return value begin with the function's place."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"{self.path}:{self._line_of(function)}: {error}") from error

    def _line_of(self, function: str) -> int:
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
                return self.line + node.lineno - 1
        return self.line

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snippet) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<snippet {self.path}:{self.line}>"

    def _dump(self, info: SerializationInfo) -> str:
        return self.text_for_keys if info.context == FOR_KEYS else self.text

    @classmethod
    def _parse(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            raise ValueError(f"expected Python in a string, got `{type(value).__name__}`")  # noqa: TRY004 - pydantic collects ValueErrors
        try:
            if isinstance(value, Authored):
                return cls(str(value), path=value.file, line=value.line)
            return cls(value)
        except SyntaxError as error:
            raise ValueError(f"line {error.lineno or 1}: not valid Python: {error.msg}") from error
        except (RecursionError, MemoryError) as error:  # so says the parser of a deep expression
            line = getattr(value, "line", 1) or 1
            raise ValueError(f"line {line}: not valid Python: it is nested too deeply") from error


class Location(_TextValue):
    """A path in a document, relative to the file that it is in."""

    __slots__ = ("path", "written")

    def __init__(self, written: str, *, beside: str = "") -> None:
        self.written = written
        self.path = Path(beside).parent / written if beside else Path(written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return str(self.path)

    def _dump(self, info: SerializationInfo) -> str:  # noqa: ARG002 - the same for every context
        return self.written

    @classmethod
    def _parse(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str) or not value:
            raise ValueError(f"expected the path of a file, got `{value!r}`")
        return cls(str(value), beside=value.file if isinstance(value, Authored) else "")


@cache
def field_docs(component: type[BaseModel]) -> dict[str, str]:
    """The docstring below each field.

    Read on demand: pydantic would read the source of every class on import, and
    that takes longer than checking a project.
    """
    docs: dict[str, str] = {}
    for ancestor in reversed(component.__mro__):
        if not issubclass(ancestor, BaseModel) or ancestor in {BaseModel, Component}:
            continue
        try:
            (node,) = ast.parse(dedent(getsource(ancestor))).body
        except (OSError, TypeError, SyntaxError):  # a plugin may come without its source
            continue
        for field, doc in pairwise(node.body if isinstance(node, ast.ClassDef) else []):
            match field, doc:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docs[name] = cleandoc(text)
    return docs


def snippets_in(thing: Any) -> Iterator[Snippet]:
    """Yield every snippet of a component and of the components in it."""
    return parts_in(thing, Snippet)


def parts_in(thing: Any, kind: type[Part]) -> Iterator[Part]:
    """Yield everything of a type in a component and in the components in it."""
    if isinstance(thing, kind):
        yield thing
    elif isinstance(thing, BaseModel):
        for name in type(thing).model_fields:
            yield from parts_in(getattr(thing, name), kind)
    elif isinstance(thing, list | tuple | dict):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from parts_in(part, kind)


def provider_key(name: str) -> str:
    """The key of a provider's model: `openai/gpt-4.1-nano` is `openai$gpt-4-1-nano`."""
    provider, _, model = name.partition("/")
    plain = _NOT_IN_KEYS.sub("-", model.lower())
    return f"{provider}${_DASHES.sub('-', plain).strip('-')}"


def _find_neighbours(text: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Return the files next to `path` that its text imports, directly or not: path, content."""
    if not path or path.startswith("<"):
        return
    folder, seen = Path(path).parent, set[str]()
    texts: list[str | bytes] = [text]
    while texts:
        for name in sorted(_imported_modules(texts.pop()) - seen):
            seen.add(name)
            for file, content in _read_module(folder, name):
                yield file, content
                texts.append(content)


def _imported_modules(text: str | bytes) -> set[str]:
    """Return the top-level names; `from .` is inside a package, which is taken as a whole."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it fails when it is imported
        return set()
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names | modules if name}


def _read_module(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Return the files of a name: one for a module, all for a package."""
    with suppress(OSError):  # a name that is too long, a file that may not be read
        for file in (folder / f"{name}.py", *sorted((folder / name).rglob("*.py"))):
            if file.is_file():
                yield file.relative_to(folder).as_posix(), file.read_bytes()


def _hash_files(files: dict[str, bytes]) -> str:
    if not files:
        return ""
    digest = blake2b(digest_size=16)
    for path, content in sorted(files.items()):
        digest.update(f"{path}:{len(content)}:".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
