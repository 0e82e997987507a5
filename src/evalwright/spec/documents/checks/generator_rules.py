"""Find deprecated and suspicious parts of a dataset generator, and convert old names.

    deprecated       an old name of the format, or evalwright's old syntax
    unused_field     a field of a `template` synthesizer that no template uses
    unknown_field    a placeholder `{name}` without a field, which is left unchanged

All are warnings. The hint shows the current syntax.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evalwright.datasets.synthesizers.llm import Llm
from evalwright.datasets.synthesizers.python import PythonSynthesizer
from evalwright.datasets.synthesizers.synthesizer import SynthesizerSpec
from evalwright.datasets.synthesizers.template import TemplateSynthesizer
from evalwright.nearest import nearest
from evalwright.spec.documents.checks.build import find_parts
from evalwright.spec.documents.models.generator import GeneratorDocument
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, did_you_mean, get_mapping
from evalwright.templates import Template

_SOURCE_NAMES = ("dataset", "data_source")
_OLD_SOURCE_KEYS = {"dataset_key": "key", "dataset_keys": "keys"}
_OLD_SYNTHESIZER_KEYS: Mapping[str, Mapping[str, str]] = {
    "llm": {
        "system_prompt_template": "system_prompt",
        "system_prompt_format_instructions": "format_instructions",
    }
}


def modernize_generator(data: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Replace old names of the format by current names."""
    if not isinstance(data.get("definition"), dict):
        return data, []
    definition, faults = dict(data["definition"]), list[Fault]()
    path: FieldPath
    if "synthesizer" in definition and "synthesizers" not in definition:
        definition["synthesizers"] = [definition.pop("synthesizer")]
        path = ("definition", "synthesizer")
        faults.append(
            _deprecated_key(path, "`synthesizer` is the old name of `synthesizers`", "a list")
        )
    for name in _SOURCE_NAMES:
        if isinstance(definition.get(name), dict):
            path = ("definition", name)
            definition[name], more = _rename_keys(definition[name], _OLD_SOURCE_KEYS, path)
            faults += more
    synthesizers = definition.get("synthesizers")
    for number, synthesizer in enumerate(synthesizers if isinstance(synthesizers, list) else ()):
        names = _OLD_SYNTHESIZER_KEYS.get(str(get_mapping({"": synthesizer}, "").get("type")))
        if names:
            path = ("definition", "synthesizers", number)
            renamed, more = _rename_keys(synthesizer, names, path)
            definition["synthesizers"] = [
                renamed if place == number else other
                for place, other in enumerate(definition["synthesizers"])
            ]
            faults += more
    return {**data, "definition": definition}, faults


def _rename_keys(
    part: dict[str, Any], names: Mapping[str, str], path: FieldPath
) -> tuple[dict[str, Any], list[Fault]]:
    old = {key: new for key, new in names.items() if key in part and new not in part}
    faults = [
        _deprecated_key((*path, key), f"`{key}` is the old name of `{new}`", f"write `{new}`")
        for key, new in old.items()
    ]
    return {old.get(key, key): value for key, value in part.items()}, faults


def _deprecated_key(path: FieldPath, detail: str, hint: str) -> Fault:
    return Fault(path, "deprecated", detail, hint, level="warning", at_key=True)


def find_generator_warnings(document: Any) -> Iterator[Fault]:
    """Yield a warning for every part in the old syntax and for fields that templates do not use."""
    if not isinstance(document, GeneratorDocument):
        return
    if document.definition.data_source is not None:
        detail = "`data_source` is the old name of `dataset`"
        yield _deprecated_key(("definition", "data_source"), detail, "write `dataset`")
    for number, synthesizer in enumerate(document.definition.synthesizers):
        path = ("definition", "synthesizers", number)
        yield from _find_earlier_names(synthesizer, path)
        if isinstance(synthesizer, Llm):
            yield from _find_earlier_llm(synthesizer, path)
        elif isinstance(synthesizer, TemplateSynthesizer):
            yield from _check_template(synthesizer, path)
        elif isinstance(synthesizer, PythonSynthesizer) and synthesizer.merges_columns:
            detail = "`synthesize(sample)` is the old syntax for `synthesize(source)`"
            hint = "write `def synthesize(source)`, and return whole rows: `{**source, …}`"
            fault = Fault((*path, "synthesize_snippet"), "deprecated", detail, hint, "warning")
            yield fault


def _find_earlier_names(synthesizer: SynthesizerSpec, path: FieldPath) -> Iterator[Fault]:
    for below, template in find_parts(synthesizer, Template, path):
        if "sample" in template.names():
            detail = "`sample` is the old syntax for `source`"
            hint = "write `{{ source.COLUMN }}`"
            yield Fault(below, "deprecated", detail, hint, level="warning")


def _find_earlier_llm(synthesizer: Llm, path: FieldPath) -> Iterator[Fault]:
    if synthesizer.user_prompt is not None:
        detail = "`user_prompt` is the old syntax for `user_prompt_template`"
        yield _deprecated_key((*path, "user_prompt"), detail, "write `user_prompt_template`")
    names = [synthesizer.output_column] if synthesizer.output_column else [*synthesizer.properties]
    for key in ("output_column", "output_columns"):
        if getattr(synthesizer, key) is not None:
            hint = f"write `sample_properties: {{{names[0]}: {{type: string}}}}`, for a JSON reply"
            detail = f"`{key}` is the old syntax for `sample_properties`"
            yield _deprecated_key((*path, key), detail, hint)


def _check_template(synthesizer: TemplateSynthesizer, path: FieldPath) -> Iterator[Fault]:
    if synthesizer.columns is not None:
        hint = "write `template`, whose text is the column `text`, and `fields`"
        detail = "`columns` is the old syntax for `template` and `fields`"
        yield _deprecated_key((*path, "columns"), detail, hint)
        return
    used, fields = synthesizer.find_placeholders(), list(synthesizer.fields)
    for name in fields:
        if name not in used:
            detail = (
                f"no template uses the field `{name}`: its values result in rows with the same text"
            )
            hint = f"write `{{{name}}}` in the template, or remove the field"
            yield Fault(
                (*path, "fields", name), "unused_field", detail, hint, "warning", at_key=True
            )
    for name in sorted(used - set(fields)):
        if nearest(name, fields):
            detail = f"there is no field `{name}`: `{{{name}}}` is left unchanged"
            yield Fault(
                (*path, "template"), "unknown_field", detail, did_you_mean(name, fields), "warning"
            )
