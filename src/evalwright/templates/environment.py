"""The Jinja environments: immutable sandboxes in which a row's column is never a dict's method.

A template sees plain data and the format's objects. It changes nothing (templates that call
`append` and similar methods are compiled by `mutable`), it loads nothing, and what it creates is
charged to the render's `WorkBudget`, which is in its context.
"""

import operator as operator_module
import warnings
from ast import literal_eval, parse
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from itertools import chain, islice
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter, modifies_known_mutable
from jinja2.utils import Cycler, Joiner, Namespace

from evalwright.templates.bounds import (
    MAX_OUTPUT,
    OPERATORS,
    PLAIN_OPERATORS,
    TooExpensive,
    WorkBudget,
    before_call,
    bounded_range,
    check_operands,
    check_width,
    cost_of_comparing,
    cost_of_searching,
)
from evalwright.templates.filters import BLOCK, STEPS, paid_filters, paid_tests

_MOST_PARTS = 50_000
_LITERAL_STARTS = frozenset("TFNbBrRuUs")
"""The letters that a literal can begin with: a name, a string prefix, `set()`."""


def read_literal(text: Any) -> Any:
    """Return the value of a literal; other texts and values are unchanged."""
    if (
        not isinstance(text, str)
        or not text
        or (text[0].isalpha() and text[0] not in _LITERAL_STARTS)
    ):
        return text
    if text[0] in "[({" and sum(map(text.count, ",:[({")) > _MOST_PARTS:
        raise TooExpensive(f"a literal may have at most {_MOST_PARTS:,} parts")
    try:
        with warnings.catch_warnings():  # of `"\\d"`: it is data, and nobody can mend it
            warnings.simplefilter("ignore")
            # Parsed first, because `literal_eval` alone forgives leading spaces.
            return literal_eval(parse(text, mode="eval"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


_ALONE = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
MUTATORS = frozenset(
    {"add", "append", "clear", "difference_update", "discard", "extend", "insert", "pop", "popitem"}
    | {"remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update"}
)
"""The methods that change a list, a dict or a set."""


class MissingMessage(str):
    """Return what is wrong with something undefined, and where it was looked up."""

    __slots__ = ("name", "within")
    name: Any
    within: Any


class Missing(StrictUndefined):
    """An undefined value; its error says where it was looked up."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        message = MissingMessage(self._undefined_hint or super()._undefined_message)
        message.name, message.within = self._undefined_name, self._undefined_obj
        return message


class PaidContext(Context):
    """A context with the budget of its render."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.budget = WorkBudget()

    def derived(self, locals: dict[str, Any] | None = None) -> "PaidContext":  # noqa: A002 - Jinja's
        """Return a nested context with the same budget."""
        inner: PaidContext = super().derived(locals)  # type: ignore[assignment]
        inner.budget = self.budget
        return inner


class _Paying(CodeGenerator):
    """Generates code in which every list, dict and concatenation is charged."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.join_text(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self._write_paid(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self._write_paid(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        if node.ctx == "load":
            self._write_paid(super().visit_Tuple, node, frame)
        else:  # the target of an assignment
            super().visit_Tuple(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("context.budget.slice_of(")
        super().visit_Getitem(node, frame)
        self.write(")")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        self.write("environment.compare(context, ")
        self.visit(node.expr, frame)
        for operand in node.ops:
            self.write(f", ({operand.op!r}, lambda: ")
            self.visit(operand.expr, frame)
            self.write(")")
        self.write(")")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        if not getattr(node, "called", False):
            super().visit_Getattr(node, frame)
            return
        self.write("environment.method(")
        self.visit(node.node, frame)
        self.write(f", {node.attr!r})")

    def _write_paid(self, visit: Callable[[Any, Frame], None], node: Any, frame: Frame) -> None:
        self.write("context.budget.pay_for(")
        visit(node, frame)
        self.write(")")


class _PayingText(_Paying):
    """The same, for templates that become text."""

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        del node, frame, finalize
        self.write("context.budget.text_of(")


class _PayingNative(_Paying, NativeCodeGenerator):
    """The same, for templates whose value is not turned into text."""


class _Formatter(SandboxedFormatter):
    """`"{}".format` with limited widths."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        check_width(format_spec)
        return super().format_field(value, format_spec)


def refuse_change(method: str) -> str:
    """Say that a method of a trace is not for templates, and what to write instead."""
    return (
        f"`{method}` changes a trace, which a template cannot do: copy what it needs first, as in "
        "`{% set items = trace.items | list %}`, or use a `python` solver"
    )


class Text(ImmutableSandboxedEnvironment):
    """For prompts: a template becomes text."""

    code_generator_class: type[CodeGenerator] = _PayingText
    context_class = PaidContext
    intercepted_binops = frozenset({*OPERATORS, *PLAIN_OPERATORS})

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], cache_size=0
        )
        self.filters.clear()
        self.filters.update(paid_filters())
        self.tests.clear()
        self.tests.update(paid_tests())
        self.globals.clear()
        self.globals.update(
            range=bounded_range, dict=dict, cycler=Cycler, joiner=Joiner, namespace=Namespace
        )

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a row's column, never a dict method: `items` is a column or undefined."""
        if not isinstance(obj, Mapping):
            return super().getattr(obj, attribute)
        if attribute in obj:
            return obj[attribute]
        own = getattr(type(obj), attribute, None)
        if hasattr(dict, attribute) and not isinstance(own, property):
            return Missing(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The same by key."""
        if not isinstance(obj, Mapping):
            return super().getitem(obj, argument)
        try:
            return obj[argument]
        except (KeyError, TypeError):
            if isinstance(argument, str):
                return self.getattr(obj, argument)
            return Missing(obj=obj, name=argument)

    def method(self, obj: Any, attribute: str) -> Any:
        """Return what a call by name refers to: a row's dict method; columns are not callable."""
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Tell whether a template may have it; `dict.update` could change any dict."""
        if isinstance(obj, type) and attr in MUTATORS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Missing:
        """Return what a template gets instead of a forbidden attribute."""
        kind = type(obj).__name__
        hint = (
            f"`{attribute}` changes a {kind}: call it directly, as in `{{% do x.{attribute}(…) %}}`"
        )
        if attribute.startswith("_") or not modifies_known_mutable(obj, attribute):
            hint = f"`{attribute}` of a {kind} is not accessible in a template"
        return Missing(hint, name=attribute, obj=obj, exc=SecurityError)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right`, within the budget."""
        check_operands(left, right)
        if operator in PLAIN_OPERATORS:
            return PLAIN_OPERATORS[operator](left, right)
        return OPERATORS[operator](left, right, context.budget)

    def compare(self, context: Any, left: Any, *operands: tuple[str, Callable[[], Any]]) -> Any:
        """Compare like Python: `a < b < c` evaluates `c` only if `a < b`."""
        budget: WorkBudget = context.budget
        result: Any = True
        for operator, evaluate in operands:
            right = evaluate()
            searches = operator in {"in", "notin"}
            cost = cost_of_searching if searches else cost_of_comparing
            budget.spend(cost(left, right, budget))
            result = _COMPARISONS[operator](left, right)
            if not result:
                break
            left = right
        return result

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function for a template, within the budget."""
        budget: WorkBudget = context.budget
        if not self.is_safe_callable(obj):
            raise SecurityError(refuse_change(getattr(obj, "__name__", "this method")))
        before_call(obj, (*args, *kwargs.values()), budget)
        return budget.pay_for(super().call(context, obj, *args, **kwargs))

    def join_text(self, context: Any, values: Iterable[Any]) -> str:
        """Concatenate the operands of `~`."""
        pieces = [str(value) for value in values]
        context.budget.spend(sum(map(len, pieces)))
        return "".join(pieces)

    def wrap_str_format(self, value: Any) -> Any:
        """Return a safe `format` method of a string; None for anything else."""
        safe = super().wrap_str_format(value)
        if safe is None:
            return None
        text: str = value.__self__

        def format_safely(*arguments: Any, **named: Any) -> str:
            if value.__name__ == "format_map":
                return _Formatter(self).vformat(text, (), *arguments)
            return _Formatter(self).vformat(text, arguments, named)

        return update_wrapper(format_safely, value)

    def concat(self, values: Iterable[str]) -> str:
        """Return the pieces of an output as one text."""
        return join_pieces(values)

    def _generate(self, source: nodes.Template, *arguments: Any, **named: Any) -> str:
        for alone in source.find_all(_ALONE):
            message = "a template cannot load another template"
            raise TemplateSyntaxError(message, alone.lineno)
        for used in source.find_all((nodes.Filter, nodes.Test)):
            # Jinja itself would wait for the render where one stands inside a condition.
            known = self.filters if isinstance(used, nodes.Filter) else self.tests
            if used.name not in known:
                kind = type(used).__name__.lower()
                raise TemplateSyntaxError(f"No {kind} named {used.name!r}.", used.lineno)
        for call in source.find_all(nodes.Call):
            if isinstance(call.node, nodes.Getattr):
                vars(call.node)["called"] = True
        for block in source.find_all((nodes.AssignBlock, nodes.FilterBlock)):
            self._pay_for_block(block)
        for loop in list(source.find_all(nodes.For)):
            loop.iter = nodes.Filter(
                loop.iter, STEPS, [], [], None, None, lineno=loop.lineno, environment=self
            )
        return super()._generate(source, *arguments, **named)

    def _pay_for_block(self, block: Any) -> None:
        """Put a filter around the text of a block, inside of its own filters."""
        text = nodes.Filter(None, BLOCK, [], [], None, None, lineno=block.lineno, environment=self)
        inner = block.filter
        if inner is None:
            block.filter = text
            return
        while inner.node is not None:
            inner = inner.node
        inner.node = text


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator_module.eq,
    "ne": operator_module.ne,
    "gt": operator_module.gt,
    "gteq": operator_module.ge,
    "lt": operator_module.lt,
    "lteq": operator_module.le,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


class NativeValues(Text):
    """For filters: a template becomes a value."""

    code_generator_class = _PayingNative

    def concat(self, values: Iterable[Any]) -> Any:
        """Return the value of a part of a template, like Jinja's native types."""
        return read_literal(native(values))


def join_pieces(values: Iterable[str]) -> str:
    """Return the pieces of an output as one text; TooExpensive if it is too long."""
    pieces = []
    size = 0
    for value in values:
        size += len(value)
        if size > MAX_OUTPUT:
            raise TooExpensive(f"the text is longer than {MAX_OUTPUT:,} characters")
        pieces.append(value)
    return "".join(pieces)


def native(values: Iterable[Any]) -> Any:
    """Return a single value unchanged, several as one text, None for none."""
    rest = iter(values)
    head = list(islice(rest, 2))
    if not head:
        return None
    if len(head) == 1:
        return head[0]
    return join_pieces(str(value) for value in chain(head, rest))


TEXT = Text()
NATIVE = NativeValues()
