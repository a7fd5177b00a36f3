"""A Kafka broker for tests, in process: `octavo.testing.Kafka`, and the pytest fixture `kafka` (`octavo[pytest]`).

The names are imported when first used, so that the installed plugin costs pytest's start next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.jobs.describe.groups import MemberDescription
    from octavo.testing.clock import BrokerClock
    from octavo.testing.faults import Faults, RequestFault
    from octavo.testing.groups import GroupView
    from octavo.testing.journal import JournalEntry
    from octavo.testing.kafka import Kafka

__all__ = ["BrokerClock", "Faults", "GroupView", "JournalEntry", "Kafka", "MemberDescription", "RequestFault"]

_HOMES = {
    "BrokerClock": "octavo.testing.clock",
    "Faults": "octavo.testing.faults",
    "GroupView": "octavo.testing.groups",
    "JournalEntry": "octavo.testing.journal",
    "Kafka": "octavo.testing.kafka",
    "MemberDescription": "octavo.jobs.describe.groups",
    "RequestFault": "octavo.testing.faults",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo.testing' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
