"""`evalwright adapter`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "adapter",
    "Manage the model adapters of a project.",
    "Adapters are the files in model_adapters/ and those that run.yaml lists. `evalwright model "
    "test` shows what an adapter does.",
)
