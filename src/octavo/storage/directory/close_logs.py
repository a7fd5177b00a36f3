"""The clean stop of a `LogDir`: what each directory holds afterwards is what a broker leaves."""

from __future__ import annotations

from octavo.errors import KafkaStorageError
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.open_logs import OpenLogs
from octavo.system.scheduler import Scheduler


def close_logs(logs: OpenLogs, scheduler: Scheduler) -> list[KafkaStorageError]:
    """1. End background work. 2. Flush and close every log. 3. Write the checkpoints, then `.kafka_cleanshutdown`.
    4. Unlock. A crash before 3 is done makes the next start recover. Ctrl-C before 4 leaves the directories locked: it
    can be called again, and goes on with what is not closed yet.

    Returns what kept logs and directories from being closed cleanly; the others are.
    """
    scheduler.shutdown()
    for log in logs.leaving:
        log.abandon("it is deleted")
    failures = [failure for root in logs.live_roots for failure in _close(logs, root)]
    for root in logs.roots:
        root.unlock()
    return failures


def _close(logs: OpenLogs, root: LogRoot) -> list[KafkaStorageError]:
    failures: list[KafkaStorageError] = []
    try:
        for log in logs.all_of(root):
            try:
                log.close()
            except KafkaStorageError as error:
                failures.append(error)
        with root.using():
            root.write_checkpoints(logs.of(root))
            if not failures:
                root.mark_clean()
    except KafkaStorageError as error:
        failures.append(error)
    return failures
