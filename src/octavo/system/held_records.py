"""Lets readers of files see the records that this process has accepted but not written yet.

A producer holds records back for linger.ms. A reader of files in the same process first calls `write_held`, so that it
finds every record whose `send` has returned, without knowing the writers.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakValueDictionary


class RecordHolder(Protocol):
    """Something that holds records back for a while."""

    def write_held(self) -> bool:
        """Write what is held, without waiting for retries; returns whether there was anything."""
        ...


_holders: WeakValueDictionary[int, RecordHolder] = WeakValueDictionary()


def on_read(holder: RecordHolder) -> None:
    """Call the object's `write_held` before this process reads log directories."""
    _holders[id(holder)] = holder


def write_held() -> bool:
    """Write the records held anywhere in this process; returns whether there were any."""
    holders = [reference() for reference in _holders.valuerefs()]  # a copy, because other threads add to it
    held = [holder.write_held() for holder in holders if holder is not None]
    return any(held)
