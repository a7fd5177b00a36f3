"""Dumps `.txnindex` files: one line per aborted transaction."""

from __future__ import annotations

from pathlib import Path

from octavo.cli.dump_log.java_file import JavaFile
from octavo.errors import CorruptionError
from octavo.format.indexes.txn_index import ENTRY, decode
from octavo.format.names import base_offset_of
from octavo.system.regular_file import read_regular


def dump_txn_index(file: JavaFile) -> None:
    """Print all transactions, or none if one cannot be read. A missing file has none."""
    base_offset_of(file.name)
    path = Path(file.path)
    if not path.exists():
        return
    content = read_regular(path)
    try:
        aborted = decode(content).aborted
    except CorruptionError as error:
        raise error.at(path=file.path) from None
    for txn, version in zip(aborted, ENTRY.view(content)["version"].tolist(), strict=True):
        print(
            f"version: {version >> 8} producerId: {txn.producer_id} firstOffset: {txn.first_offset} "
            f"lastOffset: {txn.last_offset} lastStableOffset: {txn.last_stable_offset}"
        )
