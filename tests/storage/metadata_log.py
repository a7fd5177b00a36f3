"""Writes a metadata log as a running cluster does: configs that clients set, and other records."""

from __future__ import annotations

from pathlib import Path

from octavo.format.batches.batch import build_batch
from octavo.format.messages.cluster_metadata import METADATA_TYPES
from octavo.format.messages.schema import Row
from octavo.format.record import Record
from tests.format.messages.encoded import encode_metadata

TOPIC, BROKER = 2, 4
CONFIG = 4  # the type of a config's record

Set = tuple[int, str, str, str | None]


def write_metadata(root: Path, *given: Set) -> None:
    rows = [{"resourceType": kind, "resourceName": of, "name": name, "value": value} for kind, of, name, value in given]
    write_records(root, *((CONFIG, row) for row in rows))


def write_records(root: Path, *given: tuple[int, Row]) -> None:
    """Write records, each as its type and its fields."""
    encoded = [encode_metadata(METADATA_TYPES[kind], 0, row) for kind, row in given]
    folder = root / "__cluster_metadata-0"
    folder.mkdir()
    records = [Record(offset, 0, None, value) for offset, value in enumerate(encoded)]
    (folder / f"{0:020}.log").write_bytes(build_batch(records))
