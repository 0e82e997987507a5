"""A certificate for 127.0.0.1 that signs itself, so nobody trusts it. Its key guards nothing."""

import ssl
from pathlib import Path

_KEY = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFviQ1FrhxgOgH459ST12EPymXG1xGCZXBu8I7h1lI2"
    "ihRANCAATEB/jHJYEevKV2824GVMKkjYXnfGWhlb0mws3LWS0h7ZaFukTt8wsH9UVuS5PuJ1NkpgSXDbn76pz6WJWJ"
    "hlXr"
)
_CERTIFICATE = (
    "MIIBkDCCATagAwIBAgIUHIc/TOBu1zrjbIc8eWZsnG0iWYswCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJMTI3LjAuMC"
    "4xMCAXDTI2MTExNTIwMjIyN1oYDzIxMjYxMDIyMjAyMjI3WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjO"
    "PQIBBggqhkjOPQMBBwNCAATEB/jHJYEevKV2824GVMKkjYXnfGWhlb0mws3LWS0h7ZaFukTt8wsH9UVuS5PuJ1Nkpg"
    "SXDbn76pz6WJWJhlXro2QwYjAdBgNVHQ4EFgQUgMaSh16DiZibC/8XTGdwrRKniAQwHwYDVR0jBBgwFoAUgMaSh16D"
    "iZibC/8XTGdwrRKniAQwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUCIQ"
    "CFqAY2qyKyMjB1BXZHEUlUM5r3/TwoSo0Upk5+PmLZ6AIgIEOJQ9ZD2CJj2shKrzRjeWkhhW2oV2iN9NbzpXqng6o="
)

CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{_CERTIFICATE}\n-----END CERTIFICATE-----\n"


def tls_of_a_stranger(folder: Path) -> ssl.SSLContext:
    """What a server with this certificate needs; `folder` keeps it meanwhile."""
    pem = folder / "self-signed.pem"
    pem.write_text(f"-----BEGIN PRIVATE KEY-----\n{_KEY}\n-----END PRIVATE KEY-----\n{CERTIFICATE}")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)
    return tls
