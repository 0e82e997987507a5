import ssl
from base64 import b64encode

import pytest
from tests.servers.certificates import CERTIFICATE

from evalwright.clients.custom import make_tls_context
from evalwright.errors import UsageError

PEM = b64encode(CERTIFICATE.encode()).decode()


def test_who_names_an_authority_trusts_it_and_no_other() -> None:
    made = make_tls_context(PEM)

    assert made.verify_mode == ssl.CERT_REQUIRED
    assert made.check_hostname
    assert len(made.get_ca_certs()) == 1


def test_base64_may_be_broken_into_lines() -> None:
    assert len(make_tls_context(f"{PEM[:60]}\n{PEM[60:]}\n").get_ca_certs()) == 1


def test_without_an_authority_the_machines_own_are_trusted() -> None:
    assert make_tls_context().get_ca_certs() == ssl.create_default_context().get_ca_certs()


def test_what_is_accepted_untrusted_is_not_checked_at_all() -> None:
    made = make_tls_context(accept_untrusted=True)

    assert made.verify_mode == ssl.CERT_NONE
    assert not made.check_hostname


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("???", id="no base64"),
        pytest.param(b64encode(b"hello").decode(), id="no certificate"),
        pytest.param(b64encode(CERTIFICATE[:200].encode()).decode(), id="half a certificate"),
        pytest.param(CERTIFICATE, id="PEM itself"),
    ],
)
def test_what_is_no_certificate_is_refused_without_being_shown(given: str) -> None:
    with pytest.raises(UsageError, match=r"^`trusted_ca` is not a certificate\n") as caught:
        make_tls_context(given)

    assert "base64" in caught.value.hint
