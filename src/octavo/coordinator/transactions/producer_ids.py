"""Producer ids: none is given out twice, not even after a crash, as long as a directory that recorded them is left."""

from __future__ import annotations

import json
import threading

from octavo.errors import CorruptionError, KafkaStorageError
from octavo.format.names import PRODUCER_ID_STORE
from octavo.kernels.integers import INT64_MAX
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, replace_in_live
from octavo.storage.log_manager import LogManager

# Kafka's controllers give out ids from 0 on. Octavo's ids start where theirs never get: if a broker took over the
# directory and gave one of Octavo's ids to another producer, the log would take that producer's first batches for
# duplicates.
FIRST_PRODUCER_ID = 1 << 48
BLOCK_SIZE = 1000
_LAST_BLOCK = INT64_MAX - BLOCK_SIZE
_VERSION = 0


class ProducerIds:
    """Gives out ids from blocks. Thread-safe.

    1. Write the first id of the next block to every directory that is online. 2. Give out the ids before it. A crash
    after 1 loses the rest of a block but never repeats an id.
    """

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._lock = threading.Lock()
        self._block = iter(range(0))
        self._block_end = 0

    def allocate(self) -> int:
        """A new id, for a producer or for a transactional id."""
        with self._lock:
            producer_id = next(self._block, None)
            if producer_id is None:
                self._take_block()
                producer_id = next(self._block)
            return producer_id

    def _take_block(self) -> None:
        roots = live(self._log_manager.roots)
        first = max([FIRST_PRODUCER_ID, self._block_end, *(_stored(root) for root in roots)])
        content = json.dumps({"version": _VERSION, "nextProducerId": first + BLOCK_SIZE}) + "\n"
        if not replace_in_live(roots, PRODUCER_ID_STORE, content.encode()):
            raise KafkaStorageError("all log directories are offline: no producer id can be allocated")
        self._block_end = first + BLOCK_SIZE
        self._block = iter(range(first, self._block_end))


def _stored(root: LogRoot) -> int:
    path = root.path / PRODUCER_ID_STORE
    with root.unless_offline():
        if not root.files.exists(path):
            return 0
        try:
            next_id = json.loads(root.files.read_bytes(path))["nextProducerId"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise CorruptionError('expected a JSON object with "nextProducerId"', path=str(path)) from None
        if type(next_id) is not int or not 0 <= next_id <= _LAST_BLOCK:
            found = f"nextProducerId is {str(next_id)[:40]}"
            raise CorruptionError(f"{found}, expected a whole number from 0 to {_LAST_BLOCK}", path=str(path))
        return next_id
    return 0
