"""`evalwright generator`."""

from evalwright.cli.entities import entity_group

command = entity_group(
    "generator",
    "Manage a project's dataset generators.",
    "Generators are the files in dataset_generators/ and those listed in run.yaml. `evalwright "
    "dataset generate` generates the rows of a dataset that names a generator.",
)
