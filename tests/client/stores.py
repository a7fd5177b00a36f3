"""Stores for tests of clients: real files, with a clock and a scheduler that tests move."""

from __future__ import annotations

from pathlib import Path

import octavo
from octavo.client.log_dir import LogDir
from octavo.format.messages.transaction_state import TransactionStatus, decode_transaction_state_record
from octavo.scanner.reading.records import ConsumerRecord
from octavo.storage.log.read import Isolation
from tests.storage.worlds import World


class Store:
    """A log directory in its own folder and world."""

    def __init__(self, folder: Path, **configs: str) -> None:
        self.folder = folder
        self.world = World()
        self._configs = {name.replace("_", "."): value for name, value in configs.items()}
        self.logs = self._open()

    def _open(self) -> LogDir:
        return octavo.LogDir(self.folder, environment=self.world.environment, configs=self._configs)

    def reopen(self) -> LogDir:
        """Stop cleanly and start again."""
        now_ms = self.world.clock.now_ms
        self.logs.close()
        self.world = World(now_ms)
        self.logs = self._open()
        return self.logs

    def records(self, topic: str, isolation_level: str = "read_uncommitted") -> list[ConsumerRecord]:
        """What a scan of the directory finds."""
        scan = octavo.scan(self.folder, topics=[topic], isolation_level=isolation_level)  # type: ignore[arg-type]
        return list(scan.records())

    def transaction_states(self) -> list[str]:
        """The states of transactional ids in `__transaction_state`, in order; "gone" if one was deleted."""
        found = []
        for record in self.records("__transaction_state"):
            value = decode_transaction_state_record(record.key or b"", record.value).value
            found.append("gone" if value is None else TransactionStatus(value.data["transactionStatus"]).kafka_name)
        return found

    def batches(self, topic: str, partition: int = 0) -> bytes:
        """The bytes of a partition's first segment."""
        log = self.logs.log(topic, partition)
        return log.read(log.log_start_offset, 1 << 30, Isolation.LOG_END).read()
