"""Keeps a forked child from using its parent's objects: it shares the parent's files, but not its threads or state.

With the start method fork, the default of multiprocessing on Linux up to Python 3.13, a child has a copy of every
object. If it wrote to its copy of an open log, it would overwrite what the parent appends.
"""

from __future__ import annotations

import logging
import os
from typing import Protocol
from weakref import WeakSet

FORKED = "this process was forked from the one that opened the directory; use it only there, or open it after the fork"

_log = logging.getLogger(__name__)


class Disownable(Protocol):
    """Something that belongs to the process that created it."""

    def disown(self) -> None:
        """Called in a forked child: refuse all use from now on, or start over. Take no lock: it may be held forever."""
        ...


_parents_own: WeakSet[Disownable] = WeakSet()


def on_fork(owned: Disownable) -> None:
    """Call the object's `disown` in every child that this process forks."""
    _parents_own.add(owned)


def _disown_all() -> None:
    disowned = list(_parents_own)
    _parents_own.clear()  # an object that matters to the child's own children registers again
    for owned in disowned:
        try:
            owned.disown()
        except Exception:
            _log.exception("a forked child could not let go of %s", type(owned).__name__)


os.register_at_fork(after_in_child=_disown_all)
