"""Transaction markers end transactions: with them alone we see what a committed reader saw."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from octavo.format.batches.batch import decode_batch
from octavo.format.batches.control import ControlType, EndTransactionMarker, decode_control
from octavo.format.batches.walker import walk
from tests.golden import archives

WITH_TRANSACTIONS = ["v01103", "v100", "v282", "v392", "v431-clean"]


def offsets_by_isolation(folder: Path) -> tuple[list[int], list[int]]:
    """The offsets of all data records, and of the committed ones before the first open transaction."""
    uncommitted: list[int] = []
    committed: list[int] = []
    open_transactions: dict[int, list[int]] = defaultdict(list)
    for path in sorted(folder.glob("*.log")):
        found = walk(path.read_bytes())
        for row in found.table:
            header, records = decode_batch(found.data, int(row["position"]))
            offsets = [record.offset for record in records]
            if header.is_control and records:
                marker = decode_control(records[0].key, records[0].value)
                assert isinstance(marker, EndTransactionMarker)
                ended = open_transactions.pop(header.producer_id, [])
                committed += ended if marker.type is ControlType.COMMIT else []
            elif header.is_transactional:
                uncommitted += offsets
                open_transactions[header.producer_id] += offsets
            else:
                uncommitted += offsets
                committed += offsets
    last_stable_offset = min((offsets[0] for offsets in open_transactions.values()), default=2**63)
    return uncommitted, sorted(offset for offset in committed if offset < last_stable_offset)


# F5
@pytest.mark.parametrize("archive", WITH_TRANSACTIONS)
def test_a_client_gets_no_control_records_and_committed_ones_by_their_markers(archive: str) -> None:
    read: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in archives.records(archive):
        read[row["isolation"], f"{row['topic']}-{row['partition']}"].append(row["offset"])
    topics = {folder for isolation, folder in read if "txn" in folder}
    assert topics
    for folder in topics:
        uncommitted, committed = offsets_by_isolation(archives.unpack(archive) / folder)
        assert uncommitted == read["read_uncommitted", folder]
        assert committed == read["read_committed", folder]
