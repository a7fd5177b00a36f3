"""What a log needs of the world around it, passed as one."""

from __future__ import annotations

from dataclasses import dataclass, field

from octavo.system.clock import Clock, SystemClock
from octavo.system.filesystem import FileSystem, LocalFileSystem
from octavo.system.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Environment:
    """Scheduler, clock and filesystem: tests bring their own."""

    scheduler: Scheduler
    clock: Clock = field(default_factory=SystemClock)
    filesystem: FileSystem = field(default_factory=LocalFileSystem)
