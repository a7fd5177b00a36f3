"""A Kafka broker for tests, in process: `octavo.testing.Kafka`, and the pytest fixture `kafka` (`octavo[pytest]`).

The names are imported when first used, so that pytest starts no slower with the plugin installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.testing.clock import BrokerClock
    from octavo.testing.faults import Faults, RequestFault
    from octavo.testing.groups import GroupView
    from octavo.testing.kafka import Kafka

__all__ = ["BrokerClock", "Faults", "GroupView", "Kafka", "RequestFault"]

_HOMES = {"BrokerClock": "clock", "RequestFault": "faults", "Faults": "faults", "GroupView": "groups", "Kafka": "kafka"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'octavo.testing' has no attribute {name!r}")
    value: object = getattr(import_module(f"octavo.testing.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
