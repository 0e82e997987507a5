"""A tier is believed only when attempts to break out of it have failed."""

import json
import shutil
import subprocess
import sys

import pytest

from evalwright.sandbox import tiers
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS

ATTEMPTS = {"read", "write", "connect", "fork", "signal"}


def test_every_tier_is_looked_at() -> None:
    standings = tiers.survey()

    assert [standing.tier for standing in standings] == list(TIERS)
    for standing in standings:
        assert standing.available != bool(standing.why)
        assert set(standing.canaries) == (ATTEMPTS if standing.available else set())


@pytest.mark.parametrize("attempt", sorted(ATTEMPTS))
def test_a_jail_that_lets_a_canary_out_is_not_used(
    attempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the canary only says that it got out; that is enough to be refused."""
    lie = f'attempts["{attempt}"] = lambda: None\nrefused = '
    monkeypatch.setattr(tiers, "_CANARY", tiers._CANARY.replace("refused = ", lie))

    with pytest.raises(NoTier, match=f"these were not stopped: {attempt}"):
        tiers.choose(None, verdicts="both", packages={}, python=None)


def test_a_jail_in_which_nothing_works_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "_CANARY", tiers._CANARY.replace("a + b", "a - b"))

    with pytest.raises(NoTier, match="target 2 of 2: evaluated to False"):
        tiers.choose(None, verdicts="both", packages={}, python=None)


def test_other_systems_have_no_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    assert {standing.why for standing in tiers.survey()} == {"needs Linux, and this is darwin"}


SURVEY = """
import json
from evalwright.sandbox import tiers
print(json.dumps([[one.tier, one.available, one.why] for one in tiers.survey()]))
"""


def elsewhere(before: str = "") -> list[list[object]]:
    """How the tiers stand for the root of a container that has no other users."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], check=False).returncode:
        pytest.skip("user namespaces are forbidden here, or `unshare` is not installed")
    script = f"{before}\nexec '{sys.executable}' -c '{SURVEY}'"
    ended = subprocess.run(
        [unshare, "-Ur", "sh", "-ec", script], capture_output=True, text=True, check=False
    )
    if ended.returncode and before:
        pytest.skip(f"this cannot be arranged here: {ended.stderr.strip()}")
    standings: list[list[object]] = json.loads(ended.stdout)
    return standings


def test_the_root_of_a_container_has_every_tier() -> None:
    here = [standing.available for standing in tiers.survey()]

    assert [available for _, available, _ in elsewhere()] == here


def test_where_user_namespaces_are_forbidden_the_reason_is_told() -> None:
    (namespaces, landlock) = elsewhere("echo 0 > /proc/sys/user/max_user_namespaces")

    assert namespaces[1:] == [
        False,
        "unshare: No space left on device: the limit user.max_user_namespaces is reached, or zero",
    ]
    assert landlock[1] == tiers.survey()[1].available
