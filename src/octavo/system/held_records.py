"""Lets readers of files see the records that this process has accepted but not written yet.

A producer holds records back for linger.ms. A reader of files in the same process first calls `write_held`, so that it
finds every record whose `send` has returned, without knowing the writers.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakValueDictionary


class RecordHolder(Protocol):
    """Something that holds records back for a while."""

    def write_held(self) -> None:
        """Write what is held, without waiting for retries."""
        ...


_holders: WeakValueDictionary[int, RecordHolder] = WeakValueDictionary()


def on_read(holder: RecordHolder) -> None:
    """Call the object's `write_held` before this process reads log directories."""
    _holders[id(holder)] = holder


def write_held() -> None:
    """Write the records that anybody in this process holds."""
    for reference in _holders.valuerefs():  # a copy: other threads add to it
        holder = reference()
        if holder is not None:
            holder.write_held()
