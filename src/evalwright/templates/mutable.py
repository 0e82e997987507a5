"""Templates that change lists and dicts: `{% do xs.append(1) %}`, `{% set _ = d.update(…) %}`.

They change what they made, and copies of what they were given: the sample, the messages and the
output of a solver are the same afterwards. Only templates that call such a method pay for copies;
the others are compiled by `environment`.

Promises:  a method that changes something can only be called by its name, so the syntax tree shows
           which templates do so. What a list has become is paid for where it is printed, compared,
           filtered or passed on: it may have grown since it was made.
Does not:  change the format's own objects: `solver_output.trace.items.append(…)` is refused.
"""

from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, ValuesView
from copy import deepcopy
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.utils import pass_context

from evalwright.templates.bounds import WorkBudget, before_change
from evalwright.templates.environment import MUTATORS, Missing, NativeValues, Text, refuse_change
from evalwright.templates.filters import BLOCK, STEPS

_PAID = " paid"
"""The filter that weighs a value again. No template can write its name."""


def changes_values(tree: nodes.Template) -> bool:
    """Tell whether a template calls a method that changes a list, a dict or a set."""
    return any(
        isinstance(call.node, nodes.Getattr) and call.node.attr in MUTATORS
        for call in tree.find_all(nodes.Call)
    )


def copy_values(variables: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the variables, with copies of those that a template mentions."""
    used = {name: variables[name] for name in names if name in variables}
    return {**variables, **deepcopy(used)}


class MutableText(Text):
    """For prompts that change lists and dicts."""

    def __init__(self) -> None:
        super().__init__()
        for name in set(self.filters) - {STEPS, BLOCK}:
            self.filters[name] = _pay_arguments(self.filters[name])
        self.filters[_PAID] = _pay

    def method(self, obj: Any, attribute: str) -> Any:
        """What is called by a name: also what changes a list or a dict."""
        if attribute not in MUTATORS or not isinstance(obj, list | dict | set):
            return super().method(obj, attribute)
        change = getattr(obj, attribute)
        if getattr(change, "alters_data", False):
            return Missing(refuse_change(attribute), name=attribute, obj=obj, exc=SecurityError)
        return change

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls; what it is called with has its price now."""
        budget: WorkBudget = context.budget
        args = tuple(_list_views(value, budget) for value in args)
        kwargs = {name: _list_views(value, budget) for name, value in kwargs.items()}
        before_change(obj, (*args, *kwargs.values()), budget)
        return _list_views(super().call(context, obj, *args, **kwargs), budget)

    def join_text(self, context: Any, values: Iterable[Any]) -> str:
        """What `~` makes."""
        return super().join_text(context, map(context.budget.pay_for, values))

    def _generate(self, source: nodes.Template, *arguments: Any, **named: Any) -> str:
        for output in source.find_all(nodes.Output):
            output.nodes = [
                node if isinstance(node, nodes.TemplateData) else self._wrap_paid(node)
                for node in output.nodes
            ]
        for comparison in source.find_all(nodes.Compare):
            comparison.expr = self._wrap_paid(comparison.expr)
            for operand in comparison.ops:
                operand.expr = self._wrap_paid(operand.expr)
        for test in source.find_all(nodes.Test):
            test.node = self._wrap_paid(test.node)
            test.args = [self._wrap_paid(argument) for argument in test.args]
        return super()._generate(source, *arguments, **named)

    def _wrap_paid(self, node: nodes.Expr) -> nodes.Expr:
        return nodes.Filter(node, _PAID, [], [], None, None, lineno=node.lineno, environment=self)


class MutableNative(MutableText, NativeValues):
    """The same for filters, whose value stays what it is."""


def _list_views(value: Any, budget: WorkBudget) -> Any:
    """Return a value that can be weighed: of an iterator or a view the list."""
    if hasattr(value, "__next__"):
        return list(budget.steps(value))
    return list(value) if isinstance(value, KeysView | ValuesView | ItemsView) else value


def _pay_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(context: Any, value: Any, *arguments: Any, **named: Any) -> Any:
        for weighed in (value, *arguments, *named.values()):
            context.budget.pay_for(weighed)
        return function(context, value, *arguments, **named)

    return pass_context(call)


@pass_context
def _pay(context: Any, value: Any) -> Any:
    return context.budget.pay_for(value)


MUTABLE_TEXT = MutableText()
MUTABLE_NATIVE = MutableNative()
