"""A trust of one's own: for an endpoint whose certificate no public authority has signed.

Does not:   add to the machine's authorities. Who names some trusts these, and no others.
"""

import base64
import binascii
import ssl

from evalwright.errors import UsageError


def context(trusted_ca: str = "", *, accept_untrusted: bool = False) -> ssl.SSLContext:
    """How certificates are checked. `trusted_ca` is PEM in base64; empty for the machine's own."""
    try:
        pem = base64.b64decode("".join(trusted_ca.split()), validate=True).decode("ascii")
        made = ssl.create_default_context(cadata=pem or None)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError, ValueError) as error:
        raise UsageError(
            "`trusted_ca` is not a certificate",
            hint="it is PEM in base64: `base64 -w0 ca.pem` writes it",
        ) from error
    if pem:
        # Python 3.13 asks more of an authority than private ones mostly have.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if accept_untrusted:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made
