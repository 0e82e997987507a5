import json
import stat
from pathlib import Path

import pytest

from evalwright.errors import UsageError
from evalwright.secret_store import delete_secret, read_secrets, set_secret


def test_a_secret_is_stored_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "secrets.json"

    set_secret("AGENT_KEY", "first-value", file)
    set_secret("AGENT_KEY", "wörth\nmore", file)
    set_secret("other-1", "x", file)

    assert {name: secret.reveal() for name, secret in read_secrets(file).items()} == {
        "AGENT_KEY": "wörth\nmore",
        "other-1": "x",
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (file.parent / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in file.parent.iterdir()) == [".gitignore", "secrets.json"]


def test_a_secret_can_be_deleted_once(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    set_secret("A", "value", file)

    delete_secret("A", file)

    assert read_secrets(file) == {}
    with pytest.raises(UsageError, match="there is no secret `A`"):
        delete_secret("A", file)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        pytest.param("a b", "x", "cannot be the name of a secret", id="a space"),
        pytest.param("", "x", "cannot be the name of a secret", id="no name"),
        pytest.param("A", "", "is empty: nothing was stored", id="no value"),
    ],
)
def test_what_cannot_be_a_secret_is_not_stored(
    tmp_path: Path, name: str, value: str, problem: str
) -> None:
    file = tmp_path / "secrets.json"

    with pytest.raises(UsageError, match=problem):
        set_secret(name, value, file)

    assert not file.exists()


@pytest.mark.parametrize(
    ("content", "mode", "problem"),
    [
        pytest.param('{"A": "value"}', 0o644, "other users may read", id="open to others"),
        pytest.param('{"A": "val', 0o600, "expected a JSON object", id="cut off"),
        pytest.param('{"A": 1}', 0o600, "expected a JSON object", id="not text"),
        pytest.param("\ufffd", 0o600, "expected a JSON object", id="not JSON"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_and_left(
    tmp_path: Path, content: str, mode: int, problem: str
) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(content, encoding="utf-8")
    file.chmod(mode)

    with pytest.raises(UsageError, match=problem):
        set_secret("B", "value", file)

    assert file.read_text(encoding="utf-8") == content


def test_values_never_print(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    set_secret("A", "sensitive-value", file)

    assert "sensitive" not in repr(read_secrets(file))
    assert json.loads(file.read_text()) == {"A": "sensitive-value"}
