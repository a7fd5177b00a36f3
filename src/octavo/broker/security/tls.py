"""TLS: a server's context from Kafka's ssl.* configs, and the principal in a client's certificate."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from octavo.broker.security.listeners import Listener
from octavo.broker.security.principals import ANONYMOUS, user
from octavo.config.broker import BrokerTable
from octavo.errors import ConfigError

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
# The attributes that RFC 2253 abbreviates, as named by OpenSSL.
_ABBREVIATED = {
    "commonName": "CN", "localityName": "L", "stateOrProvinceName": "ST", "organizationName": "O",
    "organizationalUnitName": "OU", "countryName": "C", "streetAddress": "STREET", "domainComponent": "DC",
    "userId": "UID",
}  # fmt: skip


def server_context(listener: Listener) -> ssl.SSLContext:
    """The context for a TLS listener; raises ConfigError if a key or a certificate cannot be used."""
    config = listener.config
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = _CLIENT_AUTH[config.ssl_client_auth]
    try:
        _load_key(context, config)
        if config.ssl_truststore_certificates is not None:
            with _naming("ssl.truststore.certificates"):
                context.load_verify_locations(cadata=config.ssl_truststore_certificates)
        elif config.ssl_truststore_location is not None:
            _check_pem(config.ssl_truststore_type, "truststore")
            with _naming(config.ssl_truststore_location):
                context.load_verify_locations(config.ssl_truststore_location)
        elif context.verify_mode is not ssl.CERT_NONE:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    except (OSError, ConfigError) as error:
        raise ConfigError(f"listener {listener.name}: {error}") from None
    return context


def _load_key(context: ssl.SSLContext, config: BrokerTable) -> None:
    password = config.ssl_key_password or ""  # an empty one, so that OpenSSL does not ask on the terminal
    if config.ssl_keystore_key is not None:
        _check_pem(config.ssl_keystore_type, "keystore")
        with tempfile.TemporaryDirectory() as folder:  # ssl reads keys only from files; others cannot enter it
            path = Path(folder, "key.pem")
            path.write_text(f"{config.ssl_keystore_key}\n{config.ssl_keystore_certificate_chain or ''}\n")
            with _naming("ssl.keystore.key or ssl.keystore.certificate.chain"):
                context.load_cert_chain(path, password=password)
    elif config.ssl_keystore_location is not None:
        _check_pem(config.ssl_keystore_type, "keystore")
        with _naming(config.ssl_keystore_location):
            context.load_cert_chain(config.ssl_keystore_location, password=password)
    else:
        raise ConfigError("a TLS listener needs ssl.keystore.location, a PEM file with the key and its certificates")


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Name the file or config in an error of `ssl`, which does not."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror or error}") from None
    except (ValueError, TypeError) as error:  # certificates in a config that are empty, or not ASCII
        raise ConfigError(f"{source}: {error}") from None


def _check_pem(kind: str, store: str) -> None:
    if kind != "PEM":
        remedy = f"set ssl.{store}.type=PEM, and convert the file with keytool and openssl"
        raise ConfigError(f"a {store} of type {kind} cannot be read: {remedy}")


def principal_of(certificate: dict[str, Any] | None) -> str:
    """The principal of a client's certificate: its subject in the form of RFC 2253; anonymous without a certificate."""
    if not certificate:
        return ANONYMOUS
    parts = ["+".join(_attribute(*pair) for pair in name) for name in certificate.get("subject", ())]
    return user(",".join(reversed(parts)))


def _attribute(name: str, value: str) -> str:
    escaped = "".join(f"\\{character}" if character in ',+"\\<>;' else character for character in value)
    if escaped.startswith(("#", " ")):
        escaped = "\\" + escaped
    if escaped.endswith(" ") and len(value) > 1:
        escaped = escaped[:-1] + "\\ "
    return f"{_ABBREVIATED.get(name, name)}={escaped}"
