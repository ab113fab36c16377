"""The coordinator's certificate authority, for one study, and the certificate of its server."""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP384R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flower_pansvm.errors import SettingError

VALID = timedelta(days=5 * 365)
LOCAL = ("localhost", "127.0.0.1")
"""Names by which the coordinator's own programs reach the server: the web server in front of it, and `flwr`."""


def make_certificates(host: str) -> dict[str, bytes]:
    """Return new PEM files by name: an authority, and a server's certificate that it has signed, with their keys.

    ``host`` is the name or IPv4 address by which hospitals reach the server.
    """
    now = datetime.now(UTC)
    authority_key, server_key = generate_private_key(SECP384R1()), generate_private_key(SECP384R1())
    authority_name = _name(f"pansvm authority of {host}"[:64])
    authority = (
        _certificate(authority_name, authority_key, now)
        .issuer_name(authority_name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, SHA384())
    )
    names = [_alternative(host_name) for host_name in dict.fromkeys((host, *LOCAL))]
    server = (
        _certificate(_name(host[:64]), server_key, now)
        .issuer_name(authority_name)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, SHA384())
    )
    return {
        "ca.key": _private(authority_key),
        "ca.crt": authority.public_bytes(Encoding.PEM),
        "server.key": _private(server_key),
        "server.pem": server.public_bytes(Encoding.PEM),
    }


def check_authority(pem: str, where: str) -> None:
    """Check that a text is the certificate of one authority that is valid now; else SettingError."""
    try:
        (authority,) = x509.load_pem_x509_certificates(pem.encode())
        constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, x509.ExtensionNotFound):
        raise SettingError(
            f"{where} holds no certificate of an authority. Ask the coordinator for it again."
        ) from None
    if not constraints.ca:
        raise SettingError(
            f"{where} holds a certificate that is not an authority's: the coordinator has handed out its server's "
            "own. Ask the coordinator for the one in ca.crt."
        )
    now = datetime.now(UTC)
    if not authority.not_valid_before_utc <= now <= authority.not_valid_after_utc:
        raise SettingError(
            f"The certificate of the authority in {where} is valid from {authority.not_valid_before_utc:%Y-%m-%d} to "
            f"{authority.not_valid_after_utc:%Y-%m-%d}, and today is {now:%Y-%m-%d}. Is this machine's clock right? "
            "If so, the study goes on in new folders only: `pansvm coordinator init`, then `pansvm hospital init` at "
            "each hospital, whose ledger goes on."
        )


def _certificate(name: x509.Name, key: EllipticCurvePrivateKey, now: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks of hospitals may be behind.
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    unused = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return x509.KeyUsage(
        digital_signature=not signs_certificates, key_cert_sign=signs_certificates, crl_sign=False, **unused
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
