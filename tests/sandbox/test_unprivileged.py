"""The jail needs no rights: a user who has none is held, and protected, as root is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.living import PATIENCE_S
from tests.sandbox.attacks import ATTACKS, unprivileged

from evalwright.sandbox.worker import TIERS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(os.getuid() != 0, reason="without rights the other tests show it already")
@pytest.mark.parametrize("tier", TIERS)
def test_a_user_without_rights_can_hold_attacks(tier: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", unprivileged.__name__, tier],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    if ended.returncode == unprivileged.UNAVAILABLE:
        pytest.skip(ended.stdout.strip())
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_sample_is_of_the_suite() -> None:
    assert set(unprivileged.SAMPLE) <= set(ATTACKS)
    assert len(unprivileged.SAMPLE) >= 20
