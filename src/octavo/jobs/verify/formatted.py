"""Which version formatted a log directory, as far as that says who can have written in it."""

from __future__ import annotations

from octavo.errors import CorruptionError
from octavo.format.batches.batch import decode_batch
from octavo.format.batches.walker import walk
from octavo.format.names import BOOTSTRAP_CHECKPOINT
from octavo.kernels.layout import CONTROL
from octavo.scanner.places.location import Location

_METADATA_VERSION = "metadata.version"
_SINCE_4_1 = 26


def has_an_entry_a_batch(root: Location) -> bool:
    """Whether only brokers from 4.1 on can have written here: they index each batch by itself.

    The cluster began with a metadata version that no broker before them understands. 3.9.1 and 4.0.1 do so as well, but
    that cannot be told.
    """
    try:
        content = root.child(BOOTSTRAP_CHECKPOINT).read()
        return min(_metadata_versions(content), default=0) >= _SINCE_4_1
    except (OSError, CorruptionError):
        return False


def _metadata_versions(content: bytes) -> list[int]:
    # The schemas of all records take long to load, and few directories have such a file.
    from octavo.format.messages.cluster_metadata import decode_metadata_record

    levels = []
    for batch in walk(content).table:
        if batch["flaws"] or batch["attributes"] & CONTROL:
            continue
        _, records = decode_batch(content, int(batch["position"]))
        for record in records:
            if record.value is None:
                continue
            found = decode_metadata_record(record.value)
            if found.type.message.name == "FeatureLevelRecord" and found.data["name"] == _METADATA_VERSION:
                levels.append(int(found.data["featureLevel"]))
    return levels
