"""failOnDataLoss: missing records fail the query, or are logged and skipped."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from octavo.errors import DataLossError
from octavo.scanner.findings import ScanFindings

_log = logging.getLogger("octavo.spark")

_MAY_BE_LOST = "Some data may have been lost because they are not in the log directory any more"
_INSTRUCTION = "If you don't want your query to fail on such cases, set the source option failOnDataLoss to false."


@dataclass(frozen=True, slots=True)
class DataLoss:
    """Reports records that should be read but no longer exist. Picklable."""

    fail: bool

    def report(self, reason: str) -> None:
        if self.fail:
            raise DataLossError(f"{_MAY_BE_LOST}. {_INSTRUCTION} Reason: {reason}")
        _log.warning("%s: %s", _MAY_BE_LOST, reason)


class TaskFindings(ScanFindings):
    """What a task finds while reading: records whose files disappeared are lost, and damage raises an error."""

    def __init__(self, loss: DataLoss) -> None:
        super().__init__()
        self._loss = loss

    def loss(self, path: object, sentence: str) -> None:
        self._loss.report(f"{path}: {sentence}.")
