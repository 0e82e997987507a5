"""`evalwright adapter`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "adapter",
    "The model adapters of a project.",
    "They are the files in model_adapters/, and what run.yaml lists. `evalwright model test` shows "
    "what one does.",
)
