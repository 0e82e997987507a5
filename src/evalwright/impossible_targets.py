"""Code targets that no program can pass: found in the text of the target alone.

    assert False                    always fails
    1 == 2                          always false
    raise NotImplementedError       always raises
    1 / 0                           always raises
    import a_module_that_is_nowhere cannot be imported

Only statements that run before the target asks anything of the program are read. A target that is
not found here may still be one that no program can pass.
"""

import ast
import operator
import sys
import warnings
from collections.abc import Callable, Container
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

_PROGRAM = "candidate"
"""The module by whose name a target can import the program."""
_MAX_BITS = 256
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, values: item in values,
    ast.NotIn: lambda item, values: item not in values,
}


class _Unknown(Exception):
    """The value depends on more than the text."""


def explain_impossible(target: str, packages: Container[str] | None = None) -> str:
    """Return why no program can pass a target, or an empty text.

    A module must be in the standard library or in `packages`, the packages of the sandbox. By
    default it may be in any package that is installed here, as a sandbox could be given it.
    """
    with warnings.catch_warnings():  # a target's style is not reported
        warnings.simplefilter("ignore", SyntaxWarning)
        why, modules = _read(target)
    for module in modules:
        if module == _PROGRAM or module in sys.stdlib_module_names:
            continue
        if packages is None and not _can_import(module):
            return f"it imports `{module}`, which is not installed"
        if packages is not None and module not in packages:
            return f"it imports `{module}`, which is not in the sandbox"
    return why


@lru_cache(maxsize=4096)
def _read(target: str) -> tuple[str, tuple[str, ...]]:
    """Return why the text always fails, and the modules that it imports before that."""
    try:
        value = ast.parse(target.lstrip(" \t"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _read_statements(target)
    return _explain_value(value, must_hold=True), ()


def _read_statements(target: str) -> tuple[str, tuple[str, ...]]:
    try:
        body = ast.parse(target).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ()  # that is another mistake
    modules: list[str] = []
    for statement in body:
        modules += _find_modules(statement)
        why = _explain_statement(statement)
        if why is None:
            break
        if why:
            return why, tuple(modules)
    return "", tuple(modules)


def _find_modules(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Import(names=aliases):
            return [alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(module=str(module), level=0):
            return [module.partition(".")[0]]
    return []


def _explain_statement(statement: ast.stmt) -> str | None:
    """Return why a statement fails, empty if it does not; None if it may ask the program."""
    match statement:
        case ast.Raise():
            return "it always raises"
        case ast.Assert(test=value) if _is_constant(value):
            return _explain_value(value, must_hold=True)
        case ast.Expr(value=value) if _is_constant(value):
            return _explain_value(value, must_hold=False)
        case ast.Assign(targets=[ast.Name()], value=value) if _is_constant(value):
            return _explain_value(value, must_hold=False)
        case ast.FunctionDef(decorator_list=[], returns=None, args=arguments):
            return None if _asks_anything(arguments) else ""
        case ast.Pass() | ast.Import() | ast.ImportFrom(level=0):
            return ""
    return None


def _asks_anything(arguments: ast.arguments) -> bool:
    """Whether the definition of a function evaluates something."""
    annotations = [node.annotation for node in ast.walk(arguments) if isinstance(node, ast.arg)]
    return any([*arguments.defaults, *arguments.kw_defaults, *annotations])


def _explain_value(node: ast.expr, *, must_hold: bool) -> str:
    try:
        value = _evaluate(node)
    except _Unknown:
        return ""
    except (ArithmeticError, TypeError) as error:
        return f"it always raises {type(error).__name__}"
    return "it is always false" if must_hold and not value else ""


def _is_constant(node: ast.expr) -> bool:
    try:
        _evaluate(node)
    except _Unknown:
        return False
    except (ArithmeticError, TypeError):
        return True
    return True


def _evaluate(node: ast.expr) -> Any:
    """Return the value of an expression that consists of constants."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=parts):
            return tuple(_evaluate(part) for part in parts)
        case ast.List(elts=parts):
            return [_evaluate(part) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate_number(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
            return _ARITHMETIC[type(sign)](_evaluate_number(left), _evaluate_number(right))
        case ast.BoolOp(op=sign, values=parts):
            return _evaluate_boolean(parts, stops_at=isinstance(sign, ast.Or))
        case ast.Compare(left=left, ops=signs, comparators=others):
            return _compare(_evaluate(left), signs, others)
    raise _Unknown


def _evaluate_boolean(parts: list[ast.expr], *, stops_at: bool) -> Any:
    """Return the value that decides, and do not look at those after it."""
    value = None
    for part in parts:
        value = _evaluate(part)
        if bool(value) is stops_at:
            break
    return value


def _compare(left: Any, signs: list[ast.cmpop], others: list[ast.expr]) -> bool:
    for sign, other in zip(signs, others, strict=True):
        right = _evaluate(other)
        if type(sign) not in _COMPARISONS:
            raise _Unknown  # the text does not say whether two constants are one object
        if not _COMPARISONS[type(sign)](left, right):
            return False
        left = right
    return True


def _evaluate_number(node: ast.expr) -> int | float:
    value = _evaluate(node)
    if type(value) is float or (type(value) is int and value.bit_length() <= _MAX_BITS):
        return value
    raise _Unknown


@lru_cache(maxsize=256)
def _can_import(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # no `__spec__`: something that is only in memory
        return True
