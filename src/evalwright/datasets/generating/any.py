"""Any synthesizer, told by its `type`."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from evalwright.datasets.generating.drop_columns import DropColumns
from evalwright.datasets.generating.empty import Empty
from evalwright.datasets.generating.llm import Llm
from evalwright.datasets.generating.python import PythonSynthesizer
from evalwright.datasets.generating.template import TemplateSynthesizer

OF_A_VENDOR = ("claim_extraction", "claim_labeling", "link_claim_quotes", "question_answering")
"""Types of the format that are a prompt nobody has published."""


def _no_vendor(value: Any) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in OF_A_VENDOR:
        raise PydanticCustomError(
            "unsupported",
            "synthesizer `{kind}` is not supported: its prompts are not published; "
            "use `llm` with a prompt of your own",
            {"kind": str(kind)},
        )
    return value


AnySynthesizer = Annotated[
    Annotated[
        Empty | TemplateSynthesizer | PythonSynthesizer | Llm | DropColumns,
        Field(discriminator="type"),
    ],
    BeforeValidator(_no_vendor),
]
