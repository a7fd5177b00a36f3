"""Lets readers of files see the records that this process has accepted but not written yet.

A producer holds records back for up to linger.ms. A reader of files in the same process first calls `write_held`, so
that it finds every record whose `send` has returned, except those of batches that have failed or wait for a retry. It
need not know the writers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary


class RecordHolder(Protocol):
    """Something that holds records back for a while."""

    @property
    def paths(self) -> Iterable[Path]:
        """Where its records will be written."""
        ...

    def write_held(self) -> None:
        """Write what is held, without waiting for retries."""
        ...


_holders: WeakValueDictionary[int, RecordHolder] = WeakValueDictionary()


def on_read(holder: RecordHolder) -> None:
    """Call the object's `write_held` before this process reads its directories."""
    _holders[id(holder)] = holder


def write_held(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Write the records that this process holds for the directories at these paths, above them or below them."""
    if not _holders:
        return
    wanted = [os.path.realpath(os.fspath(path).removeprefix("file://")) for path in paths]
    for reference in _holders.valuerefs():  # a copy: other threads add to it
        holder = reference()
        if holder is None:
            continue
        own = [os.path.realpath(directory) for directory in holder.paths]
        if any(_overlap(one, other) for one in own for other in wanted):
            holder.write_held()


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
