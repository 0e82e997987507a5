"""Any source of rows, told by its `type`."""

from typing import Annotated

from pydantic import Field

from evalwright.datasets.chat_jsonl import ChatJsonlSource
from evalwright.datasets.folder import Folder
from evalwright.datasets.huggingface import HuggingFace
from evalwright.datasets.inline import Inline
from evalwright.datasets.inspect_ai import InspectAi
from evalwright.datasets.local import Local
from evalwright.datasets.task_result import TaskResultSource
from evalwright.datasets.url import Url

AnySource = Annotated[
    Local | Folder | Url | HuggingFace | Inline | TaskResultSource | InspectAi | ChatJsonlSource,
    Field(discriminator="type"),
]
