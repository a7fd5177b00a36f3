"""Sends a partition's batches to a socket while a test watches: `python -m tests.storage.sending_process FOLDER PORT`.

Lines on stderr say when the sending begins and ends.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from octavo.config import LogConfig
from octavo.storage.environment import Environment
from octavo.storage.partition_log import PartitionLog
from octavo.storage.recovery.load import LoadRequest
from octavo.system.scheduler import EndScheduler

BEGIN, END = b"sending begins\n", b"sending ends\n"


def main(folder: str, port: str) -> None:
    environment = Environment(EndScheduler(runs_at_end=False))
    log = PartitionLog(LoadRequest(folder=Path(folder), config=LogConfig.of({}), environment=environment, clean=True))
    with socket.create_connection(("localhost", int(port))) as target:
        records = log.read(0, 1 << 30).records
        assert records is not None
        os.write(2, BEGIN)
        sent = records.send_to(target)
        os.write(2, END)
        assert sent == records.size


if __name__ == "__main__":
    main(*sys.argv[1:])
