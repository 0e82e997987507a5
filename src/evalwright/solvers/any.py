"""Every solver that a task document may name, told apart by its `type`."""

from typing import Annotated

from pydantic import Field

from evalwright.solvers.grouped_single_turn_solver import GroupedSolver
from evalwright.solvers.multi_turn_solver import MultiTurnSolver
from evalwright.solvers.pass_through_solver import PassThroughSolver
from evalwright.solvers.python import PythonSolver
from evalwright.solvers.single_turn_solver import SingleTurnSolver

AnySolver = Annotated[
    GroupedSolver | MultiTurnSolver | PassThroughSolver | PythonSolver | SingleTurnSolver,
    Field(discriminator="type"),
]
"""The solver of a task."""
