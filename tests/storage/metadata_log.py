"""A metadata log with configs in it, as a running cluster writes them."""

from __future__ import annotations

from pathlib import Path

from octavo.format.batches.batch import build_batch
from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.record import Record
from tests.format.messages.encoded import encode_metadata

TOPIC, BROKER = 2, 4


CONFIG_RECORD = METADATA_TYPES[4]


Set = tuple[int, str, str, str | None]


def write_metadata(root: Path, *given: Set) -> None:
    records = [
        Record(
            number,
            0,
            None,
            encode_metadata(CONFIG_RECORD, 0, {"resourceType": kind, "resourceName": of, "name": name, "value": value}),
        )
        for number, (kind, of, name, value) in enumerate(given)
    ]
    folder = root / "__cluster_metadata-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(build_batch(records))
