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

    A disk that fails meanwhile is reported when the other directories are closed.
    """
    scheduler.shutdown()
    with ExitStack() as unlock:
        for root in logs.roots:
            unlock.callback(root.unlock)
        for log in logs.leaving:
            log.abandon("it is deleted")
        failures = [failure for root in logs.live_roots if (failure := _close(logs, root)) is not None]
    if failures:
        raise failures[0]


def _close(logs: OpenLogs, root: LogRoot) -> KafkaStorageError | None:
    try:
        with root.using():
            for log in logs.all_of(root):
                log.close()
            root.write_checkpoints(logs.of(root))
            root.mark_clean()
    except KafkaStorageError as error:
        return error
    return None
