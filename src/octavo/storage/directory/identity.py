"""Which broker the log directories belong to: reads and compares their meta.properties, and writes missing ones."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from octavo.errors import LogDirError
from octavo.format import kafka_uuid
from octavo.format.small_files.meta_properties import NODE_ID_VERSION, MetaProperties
from octavo.storage.directory.log_root import LogRoot

DEFAULT_NODE_ID = 1


def random_uuid() -> bytes:
    """A random uuid as Kafka makes them: not reserved, and without a leading dash, which tools would take for an
    option."""
    while True:
        uuid = secrets.token_bytes(kafka_uuid.UUID_BYTES)
        if not kafka_uuid.is_reserved(uuid) and not kafka_uuid.to_text(uuid).startswith("-"):
            return uuid


def check_identity(roots: Sequence[LogRoot]) -> dict[LogRoot, MetaProperties | None]:
    """The content of each directory's meta.properties; raises if they do not belong to one broker."""
    found: dict[LogRoot, MetaProperties | None] = {}
    for root in roots:
        with root.unless_offline():
            found[root] = root.meta()
    known = [(root, meta) for root, meta in found.items() if meta is not None]
    for root, meta in known:
        if meta.node_id is not None and root.node_id not in (None, meta.node_id):
            raise LogDirError(f"{root.path}: node.id is {meta.node_id} in its meta.properties, expected {root.node_id}")
    for slot, (root, meta) in enumerate(known):
        first_root, first = known[0]
        for what, mine, theirs in (
            ("cluster.id", meta.cluster_id, first.cluster_id),
            ("node.id", meta.node_id, first.node_id),
        ):
            if mine != theirs:
                raise LogDirError(f"{root.path}: {what} is {mine}, but {theirs} in {first_root.path}")
        for other_root, other in known[:slot]:
            if meta.directory_id is not None and meta.directory_id == other.directory_id:
                shared = f"directory.id {kafka_uuid.to_text(meta.directory_id)} is also that of {other_root.path}"
                raise LogDirError(f"{root.path}: its {shared}; if one is a copy of the other, open only one of them")
    return found


def make_identity(found: Mapping[LogRoot, MetaProperties | None], now_ms: int) -> None:
    """Write missing meta.properties, with the cluster and node ids of the others."""
    known = next((meta for meta in found.values() if meta is not None), None)
    cluster_id = (known and known.cluster_id) or kafka_uuid.to_text(random_uuid())
    for root, meta in found.items():
        if meta is None and root.failure is None:
            node_ids = known and known.node_id, root.node_id, DEFAULT_NODE_ID
            node_id = next(number for number in node_ids if number is not None)
            with root.unless_offline():
                root.write_meta(MetaProperties(NODE_ID_VERSION, cluster_id, node_id, random_uuid()), now_ms)
