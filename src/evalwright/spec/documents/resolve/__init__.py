"""From the documents of a project to the task specifications that can run."""
