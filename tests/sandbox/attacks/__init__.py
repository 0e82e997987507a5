"""Programs that want to hurt the host or fool the score, by what they go for."""

from tests.sandbox.attacks import (
    exits,
    floods,
    hanging,
    kernel,
    lies,
    looks,
    memory,
    network,
    odd_values,
    patches,
    prints,
    processes,
    reading,
    robustness,
    tricks,
    wire,
    writing,
)
from tests.sandbox.attacks.leaks import LEAKS
from tests.sandbox.attacks.table import Attack

GROUPS: dict[str, list[Attack]] = {
    "time": hanging.ATTACKS,
    "memory": memory.ATTACKS,
    "floods": floods.ATTACKS,
    "reading": reading.ATTACKS,
    "writing": writing.ATTACKS,
    "processes": processes.ATTACKS,
    "network": network.ATTACKS,
    "kernel": kernel.ATTACKS,
    "lies": lies.ATTACKS,
    "patches": patches.ATTACKS,
    "tricks": tricks.ATTACKS,
    "looks": looks.ATTACKS,
    "exits": exits.ATTACKS,
    "prints": prints.ATTACKS,
    "wire": wire.ATTACKS,
    "robustness": robustness.ATTACKS,
    "values": odd_values.ATTACKS,
}
ATTACKS = {
    f"{group}: {attack.name}": attack for group, attacks in GROUPS.items() for attack in attacks
}

__all__ = ["ATTACKS", "GROUPS", "LEAKS", "Attack"]
