"""`evalwright adapter`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "adapter",
    "Manage a project's model adapters.",
    "Adapters are the files in model_adapters/ and those listed in run.yaml. `evalwright model "
    "test` shows what an adapter does.",
)
