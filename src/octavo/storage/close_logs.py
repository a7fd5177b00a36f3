"""The clean stop of a `LogDir`: what each directory holds afterwards is what a broker leaves."""

from __future__ import annotations

from contextlib import ExitStack

from octavo.errors import KafkaStorageError
from octavo.scheduler import Scheduler
from octavo.storage.log_root import LogRoot
from octavo.storage.open_logs import OpenLogs


def close_logs(logs: OpenLogs, scheduler: Scheduler) -> None:
    """1. End background work. 2. Flush and close every log. 3. Write the checkpoints, then `.kafka_cleanshutdown`.
    4. Unlock. A crash before 3 is done makes the next start recover.
    """
    scheduler.shutdown()
    with ExitStack() as unlock:
        for root in logs.roots:
            unlock.callback(root.unlock)
        for log in logs.leaving:
            log.abandon("it is deleted")
        for root in logs.live_roots:
            _close(logs, root)


def _close(logs: OpenLogs, root: LogRoot) -> None:
    try:
        open_logs = logs.of(root)
        for log in (*open_logs.values(), *(log for home, log in logs.unserved if home is root)):
            log.close()
        root.write_checkpoints(open_logs)
        root.mark_clean()
    except KafkaStorageError:
        if root.failure is None:
            raise
        # Its disk failed meanwhile, which was said; the other directories are closed all the same.
