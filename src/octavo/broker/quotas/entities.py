"""Whom a quota is for: users, client ids, both together, or addresses; and which keys it may have."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from octavo.broker.errors import RequestError
from octavo.format.protocol.error_codes import ErrorCode
from octavo.kernels.integers import INT32_MAX, INT64_MAX

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
_OF_CLIENTS = {  # the largest value, if values must be whole; None if they need not
    PRODUCER_BYTE_RATE: INT64_MAX,
    CONSUMER_BYTE_RATE: INT64_MAX,
    REQUEST_PERCENTAGE: None,
    "controller_mutation_rate": None,
}
_OF_ADDRESSES = {"connection_creation_rate": INT32_MAX}
_ALMOST_WHOLE = 1e-6

Entity = tuple[tuple[str, str | None], ...]
"""Types and names, in order of type; a name of None stands for all names without their own quota."""
Quotas = dict[Entity, dict[str, float]]
"""The quotas by entity, then by key."""


def entity_of(names: Mapping[str, str | None]) -> Entity:
    return tuple(sorted(names.items()))


def check_entity(entity: Entity) -> Mapping[str, int | None]:
    """The quota keys that an entity may have; raises RequestError if the entity is invalid."""
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Empty {kind} not supported")
    names = dict(entity)
    if not names:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    if IP not in names:
        return _OF_CLIENTS
    if len(names) > 1:
        problem = "Invalid quota entity combination, IP entity should not be combined with User or ClientId"
        raise RequestError(ErrorCode.INVALID_REQUEST, problem)
    _check_address(names[IP])
    return _OF_ADDRESSES


def check_value(keys: Mapping[str, int | None], key: str, value: float) -> None:
    """Raise RequestError unless the key is among `keys` and may have the value."""
    if key not in keys:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
    if not value > 0:  # nor may it be NaN
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Quota {key} must be greater than 0")
    most = keys[key]
    if most is not None and value > most:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Proposed value for {key} is too large: {value}")
    if most is not None and value % 1 > _ALMOST_WHOLE:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"{key} cannot be a fractional value.")


def _check_address(host: str | None) -> None:
    try:
        if host is not None:
            socket.getaddrinfo(host, None)
    except OSError:
        problem = f"{host} is not a valid IP or resolvable host."
        raise RequestError(ErrorCode.INVALID_REQUEST, problem) from None
