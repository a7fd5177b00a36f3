"""failOnDataLoss and onDamage: missing or damaged records fail the query, or are logged and skipped."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from octavo.errors import CorruptionError, CorruptRecordError, DataLossError, KafkaStorageError
from octavo.scanner.findings import Note, ScanFindings
from octavo.spark.source.skipped import skipped_notes

if TYPE_CHECKING:
    from octavo.spark.query.source_options import SourceOptions

_log = logging.getLogger("octavo.spark")

_MAY_BE_LOST = "Some data may have been lost because they are not in the log directory any more"
_INSTRUCTION = "If you don't want your query to fail on such cases, set the source option failOnDataLoss to false."
_SKIP = 'To skip what is damaged and read the rest, set .option("onDamage", "skip")'


class SourceFindings(ScanFindings):
    """What the driver or a task finds besides records, handled as the options say.

    Each object logs each skipped place only once: a stream's planner comes across it again and again.
    """

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options.on_damage, _SKIP)
        self._fail_on_data_loss = options.fail_on_data_loss
        self._warned: set[Note] = set()

    def loss(self, path: object, sentence: str) -> None:
        self.lost(f"{path}: {sentence}.")

    def lost(self, reason: str) -> None:
        """Report records that should be read but no longer exist."""
        if self._fail_on_data_loss:
            raise DataLossError(f"{_MAY_BE_LOST}. {_INSTRUCTION} Reason: {reason}")
        _log.warning("%s: %s", _MAY_BE_LOST, reason)

    def take(self, notes: Iterable[Note]) -> None:
        for note in notes:
            if note.is_damage:
                self.damage(CorruptRecordError(note.sentence, path=note.path))

    def damage(self, error: CorruptionError) -> None:
        super().damage(error)
        self._warn()

    def unreadable(self, path: object, error: OSError, position: int | None = None) -> None:
        if self.on_damage == "raise":
            raise KafkaStorageError(f"{error.filename or path}: {error.strerror or error}. {_SKIP}") from None
        super().unreadable(path, error, position)
        self._warn()

    def _warn(self) -> None:
        note = self.notes.pop()
        if note not in self._warned:
            self._warned.add(note)
            _log.warning("damaged: %s", note)
            skipped_notes().add(frozenset([note]))
