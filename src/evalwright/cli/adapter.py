"""`evalwright adapter`."""

from evalwright.cli.entities import verbs_of

command = verbs_of(
    "adapter",
    "The model adapters of a project.",
    "They are the files in model_adapters/, and what run.yaml lists. `evalwright model test` shows "
    "what one does.",
)
