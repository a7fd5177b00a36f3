"""What a forked child must not use: it shares its parent's files, but not the parent's threads or its state.

With the start method fork, the default of multiprocessing on Linux up to Python 3.13, a child has a copy of every
object. A copy of an open log that is written to overwrites what the parent appends.
"""

from __future__ import annotations

import logging
import os
from typing import Protocol
from weakref import WeakSet

FORKED = "this process was forked from the one that opened it; open it in the child, or start children with 'spawn'"


_log = logging.getLogger(__name__)


class Owner(Protocol):
    """Something that belongs to the process that made it."""

    def disown(self) -> None:
        """Called in a forked child: from now on refuse every use. Locks may be held for ever, so take none."""
        ...


_owners: WeakSet[Owner] = WeakSet()


def on_fork(owner: Owner) -> None:
    """Let children of this process know that the owner is not theirs."""
    _owners.add(owner)


def _disown_all() -> None:
    owners = list(_owners)
    _owners.clear()  # they are not this process's; one that still matters to its own children says so again
    for owner in owners:
        try:
            owner.disown()
        except Exception:
            _log.exception("a forked child could not let go of %s", type(owner).__name__)


os.register_at_fork(after_in_child=_disown_all)
