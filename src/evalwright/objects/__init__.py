"""What templates and snippets see: traces, messages, outputs and scores.

Snippets import these names under the package names that their files were written for. The
folder is also loaded inside the author's own interpreter, so nothing here imports more than the
standard library and the modules here.
"""

from .items import (
    Content,
    CustomTaskInputMessage,
    CustomTaskOutputMessage,
    FunctionCall,
    FunctionCallOutput,
    Item,
    Message,
    extra_fields,
    items_from,
    make_message,
    text_of,
)
from .output import (
    ChatCompletion,
    ChatMessage,
    OpenResponse,
    answer_text,
    json_text,
    output_items,
    readable,
    to_text,
)
from .record import Record
from .scores import SampleScore, SystemTaskMetricEntry, SystemTaskOutput
from .solver_trace import (
    ModelResponse,
    SolverTrace,
    read_trace,
    variables,
)
from .trace import Trace, TraceMetadata, Turn

__all__ = [
    "ChatCompletion",
    "ChatMessage",
    "Content",
    "CustomTaskInputMessage",
    "CustomTaskOutputMessage",
    "FunctionCall",
    "FunctionCallOutput",
    "Item",
    "Message",
    "ModelResponse",
    "OpenResponse",
    "Record",
    "SampleScore",
    "SolverTrace",
    "SystemTaskMetricEntry",
    "SystemTaskOutput",
    "Trace",
    "TraceMetadata",
    "Turn",
    "answer_text",
    "extra_fields",
    "items_from",
    "json_text",
    "make_message",
    "output_items",
    "read_trace",
    "readable",
    "text_of",
    "to_text",
    "variables",
]
