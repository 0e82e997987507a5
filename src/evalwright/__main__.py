"""`python -m evalwright` is the command."""

from evalwright.cli import main

main()
