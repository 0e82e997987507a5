"""`evalwright generator`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "generator",
    "The dataset generators of a project.",
    "They are the files in dataset_generators/, and what run.yaml lists. `evalwright dataset "
    "generate` makes the rows of a dataset that names one.",
)
