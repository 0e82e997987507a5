"""Components and adapters by name, imported only when they are used.

Built-ins are listed in `built_ins.py`, which is generated. An installed package adds its own by
entry points:

    [project.entry-points."evalwright.scorers"]
    shortness = "acme_evals:Shortness"

The groups are `evalwright.datasets`, `.metrics`, `.models`, `.scorers` and `.solvers`. A model is
a function like `connect` of a built-in client; anything else is a class whose base is in `_BASES`.
A built-in name cannot be replaced. Plugins that cannot be used cause one `PluginWarning` per
distribution. Entry points are read when a name is not built in, or when all names are needed.
"""

import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, get_args

from evalwright.built_ins import BUILT_INS
from evalwright.errors import BrokenPlugin, PluginWarning, UnknownName
from evalwright.nearest import suggest

BUILT_IN: dict[str, dict[str, str]] = {
    **BUILT_INS,
    "sandboxes": {
        "jailed": "evalwright.sandbox.jailed:Jailed",
        "unsafe": "evalwright.sandbox.unsafe:Unsafe",
    },
}

KINDS = ("datasets", "metrics", "models", "scorers", "solvers")
"""What plugins can add."""
_BASES = {
    "datasets": ("evalwright.datasets.source:SourceSpec", ("reader", "label")),
    "metrics": ("evalwright.metrics.base:MetricSpec", ("fields", "measure")),
    "scorers": ("evalwright.scorers.base:ScorerSpec", ("score",)),
    "solvers": ("evalwright.solvers.base:SolverSpec", ("solve",)),
}
"""The base class of each kind of component, and the methods that a component must define."""
_RESERVED = {"scorers": {"record", "self_report"}, "solvers": {"record"}}
"""Names reserved for task files: documents and plugins cannot use them."""
_LONGEST_REASON = 300
_built_ins_only = ContextVar("_built_ins_only", default=False)
_checked: set[tuple[str, ...]] = set()
"""Kinds whose broken plugins have been warned about."""


class Plugin(NamedTuple):
    """One entry point of an installed distribution."""

    kind: str
    name: str
    entry_point: Any
    distribution: str
    version: str

    @property
    def advice(self) -> str:
        """What to do if it is broken."""
        return f"upgrade it, or run `pip uninstall {self.distribution}`"


class PluginFailure(NamedTuple):
    """Why a plugin cannot be used."""

    plugin: Plugin
    reason: str

    def __str__(self) -> str:
        source = f"{self.plugin.distribution} {self.plugin.version}"
        return f"`{self.plugin.name}` comes from {source}, which cannot be used: {self.reason}"


def names(kind: str) -> list[str]:
    """Return every name of a kind, plugins included."""
    return sorted({*BUILT_IN[kind], *find_plugins(kind)})


def load(kind: str, name: str) -> Any:
    """Import what `name` refers to; `UnknownName` lists the known names."""
    if target := BUILT_IN[kind].get(name):
        return _import(target)
    if failure := find_failure(kind, name):
        raise BrokenPlugin(str(failure), hint=failure.plugin.advice)
    if plugin := find_plugins(kind).get(name):
        return _load_plugin(plugin)
    known = names(kind)
    raise UnknownName(
        f"`{name}` is not one of the known {kind}: {', '.join(f'`{each}`' for each in known)}",
        hint=suggest(name, known),
    )


def find_plugins(kind: str) -> dict[str, Plugin]:
    """Return the plugins of a kind by name, without importing them."""
    return _scan()[0].get(kind, {})


def find_failure(kind: str, name: str) -> PluginFailure | None:
    """Return why the plugin of a name cannot be used; None if it can, or if there is none."""
    if kind not in KINDS or name in BUILT_IN[kind]:
        return None
    for clash in _scan()[1]:
        if (clash.plugin.kind, clash.plugin.name) == (kind, name):
            return clash
    plugin = find_plugins(kind).get(name)
    loaded = _load_plugin(plugin) if plugin else None
    return loaded if isinstance(loaded, PluginFailure) else None


def load_plugins(kind: str) -> dict[str, Any]:
    """Import every plugin of a kind that can be used, and warn about the others."""
    _warn_about_failures(("models",) if kind == "models" else tuple(_BASES))
    loaded = {name: _load_plugin(plugin) for name, plugin in find_plugins(kind).items()}
    return {name: entry for name, entry in loaded.items() if not isinstance(entry, PluginFailure)}


def load_components(kind: str) -> dict[str, Any]:
    """Import every class that a document can name in `type`, plugins included."""
    built_in = {name: _import(target) for name, target in BUILT_IN[kind].items()}
    if kind not in KINDS or _built_ins_only.get():
        return built_in
    return built_in | load_plugins(kind)


def _scan() -> tuple[dict[str, dict[str, Plugin]], list[PluginFailure]]:
    return _scan_path(tuple(sys.path))


@cache
def _scan_path(path: tuple[str, ...]) -> tuple[dict[str, dict[str, Plugin]], list[PluginFailure]]:
    from importlib.metadata import entry_points  # 20 ms that most commands need not spend

    del path  # entry points are those of `sys.path`
    everything = entry_points()
    plugins: dict[str, dict[str, Plugin]] = {}
    clashes: list[PluginFailure] = []
    for kind in KINDS:
        named: dict[str, list[Plugin]] = {}
        for point in everything.select(group=f"evalwright.{kind}"):
            source = (point.dist.name, point.dist.version) if point.dist else ("unknown", "")
            named.setdefault(point.name, []).append(Plugin(kind, point.name, point, *source))
        for name, several in named.items():
            *others, plugin = sorted(several, key=lambda entry: entry.distribution)
            if name in BUILT_IN[kind] or name in _RESERVED.get(kind, ()):
                reason = f"`{name}` is built in, and cannot be replaced"
                clashes += [PluginFailure(each, reason) for each in several]
            elif others:
                rivals = " and ".join(f"{each.distribution} {each.version}" for each in others)
                reason = f"`{name}` is also provided by {rivals}; none of them is used"
                clashes.append(PluginFailure(plugin, reason))
            else:
                plugins.setdefault(kind, {})[name] = plugin
    return plugins, clashes


@cache
def _load_plugin(plugin: Plugin) -> Any:
    loaded: Any = None
    try:
        with redirect_stdout(sys.stderr):  # stdout is for data
            loaded = plugin.entry_point.load()
            problem = _find_problem(plugin, loaded)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin does on import
        problem = f"{type(error).__name__}: {error}"
    if not problem:
        return loaded
    reason = " ".join(problem.split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return PluginFailure(plugin, reason)


def _find_problem(plugin: Plugin, loaded: Any) -> str:
    target = plugin.entry_point.value
    if plugin.kind == "models":
        return "" if callable(loaded) else f"expected a function, got `{target}`"
    path, methods = _BASES[plugin.kind]
    base = _import(path)
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        return f"expected a subclass of `evalwright.plugins.{base.__name__}`, got `{target}`"
    component: Any = loaded
    if get_args(component.model_fields["type"].annotation) != (plugin.name,):
        return f'`{target}` must have the field `type: Literal["{plugin.name}"]`'
    for method in methods:
        if getattr(component, method, None) is getattr(base, method, None):
            return f"`{target}` must define the method `{method}`"
    _build_schema(component)
    return ""


def _build_schema(component: Any) -> None:
    """Raise if pydantic cannot handle a field of a component.

    The schema is that of a throwaway subclass, without plugins in its unions: the component gets
    its own when all plugins are there.
    """
    trial = type(component)(component.__name__, (component,), {"__module__": component.__module__})
    token = _built_ins_only.set(True)
    try:
        trial.model_json_schema()
    finally:
        _built_ins_only.reset(token)


def _warn_about_failures(kinds: tuple[str, ...]) -> None:
    """Warn about the plugins of these kinds that cannot be used, once per distribution."""
    if kinds in _checked:
        return
    _checked.add(kinds)
    plugins = [plugin for kind in kinds for plugin in find_plugins(kind).values()]
    loaded = [_load_plugin(plugin) for plugin in plugins]
    failures = [entry for entry in loaded if isinstance(entry, PluginFailure)]
    failures += [clash for clash in _scan()[1] if clash.plugin.kind in kinds]
    by_distribution: dict[str, list[PluginFailure]] = {}
    for failure in failures:
        by_distribution.setdefault(failure.plugin.distribution, []).append(failure)
    for several in by_distribution.values():
        warnings.warn(_describe(several), PluginWarning, stacklevel=2)


def _describe(failures: Sequence[PluginFailure]) -> str:
    points: dict[str, list[str]] = {}
    for each in failures:
        name = f"`evalwright.{each.plugin.kind}: {each.plugin.name}`"
        points.setdefault(each.reason, []).append(name)
    reasons = "; ".join(f"cannot use {', '.join(named)}: {why}" for why, named in points.items())
    plugin = failures[0].plugin
    return f"plugin {plugin.distribution} {plugin.version}: {reasons}; {plugin.advice}"


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
