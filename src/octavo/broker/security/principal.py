"""A client's identity, as Kafka writes it: `User:alice`."""

from __future__ import annotations

from typing import NamedTuple


class Principal(NamedTuple):
    """A type, always User here, and a name."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
