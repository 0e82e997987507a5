"""`evalwright generator`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "generator",
    "Manage the dataset generators of a project.",
    "Generators are the files in dataset_generators/ and those that run.yaml lists. `evalwright "
    "dataset generate` generates the rows of a dataset that names one.",
)
