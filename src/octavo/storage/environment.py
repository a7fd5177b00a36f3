"""What a log needs from the outside world, bundled in one object."""

from __future__ import annotations

from dataclasses import dataclass, field

from octavo.system.clock import Clock, SystemClock
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Environment:
    """Scheduler, clock and filesystem; tests supply their own."""

    scheduler: Scheduler
    clock: Clock = field(default_factory=SystemClock)
    filesystem: FileSystem = field(default_factory=LocalFileSystem)
