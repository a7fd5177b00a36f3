"""Who a client is: its principal, as determined by TLS or SASL, and where it connects from."""

from __future__ import annotations

from typing import NamedTuple

from octavo.broker.errors import RequestError
from octavo.format.protocol.error_codes import ErrorCode

ANONYMOUS = "User:ANONYMOUS"
ANYBODY = "User:*"


class Client(NamedTuple):
    """The principal (`User:alice`) and the host of a connection."""

    principal: str
    host: str


def user(name: str) -> str:
    """The principal of a user."""
    return f"User:{name}"


def check_principal(text: str) -> None:
    """Refuse a principal that is not `Type:name`."""
    kind, colon, name = text.partition(":")
    if not colon:
        problem = f"Could not parse principal from `{text}` (no colon is present separating the principal type from the"
        raise RequestError(ErrorCode.INVALID_REQUEST, f"{problem} principal name)")
    if not kind or not name:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"expected a principal such as User:alice, found `{text}`")
