"""Random records, batches and message sets, as Kafka could have written them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from octavo.format.batches.batch import BatchTraits, Origin, build_columns, read_header
from octavo.format.batches.row_columns import from_records
from octavo.format.compression import Codec
from octavo.format.legacy.message_set import encode_message_set
from octavo.format.record import Header, Record
from tests.format.exact_batches import empty_batch

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMESTAMPS = st.integers(-1, 2**63 - 1) | st.integers(1_700_000_000_000, 1_700_000_001_000)
FIELDS = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=300)
# Any bytes may be a header's key; those that are not UTF-8 are kept as surrogate escapes.
HEADER_KEYS = st.binary(max_size=8).map(lambda key: key.decode("utf-8", "surrogateescape"))
HEADERS = st.lists(st.builds(Header, HEADER_KEYS, FIELDS), max_size=3).map(tuple)
LEGACY_CODECS = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
CODECS = st.sampled_from(list(Codec))

ORIGINS = st.one_of(
    st.just(Origin()),
    st.builds(
        Origin,
        producer_id=st.integers(0, 2**63 - 1),
        producer_epoch=st.integers(0, 2**15 - 1),
        base_sequence=st.integers(0, 2**31 - 1),
        is_transactional=st.booleans(),
        is_control=st.booleans(),
    ),
)


@st.composite
def records(draw: st.DrawFn, *, headers: bool = True, max_size: int = 6, gap: int = 2**20) -> list[Record]:
    """One or more records with increasing offsets, sometimes with gaps as compaction leaves them."""
    count = draw(st.integers(1, max_size))
    offset = draw(st.integers(0, 2**63 - 1 - count * gap) | st.integers(0, 3))
    found = []
    for _ in range(count):
        extra = draw(HEADERS) if headers else ()
        found.append(Record(offset, draw(TIMESTAMPS), draw(FIELDS), draw(FIELDS), extra))
        offset += draw(st.just(1) | st.integers(1, gap))
    return found


TRAITS = st.builds(
    BatchTraits,
    codec=CODECS,
    log_append_time=st.none() | TIMESTAMPS,
    delete_horizon_ms=st.none() | st.integers(0, 2**62),
    partition_leader_epoch=st.integers(-1, 2**31 - 1),
    origin=ORIGINS,
)

# The arguments of `encode_message_set` besides the records.
SETS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"magic": st.sampled_from([0, 1]), "codec": LEGACY_CODECS, "log_append_time": st.none() | TIMESTAMPS}
)


def emptied(batch: bytes) -> bytes:
    """What compaction leaves of a batch when it removes every record."""
    return empty_batch(read_header(batch))


def built(found: list[Record], traits: BatchTraits) -> bytes:
    return build_columns(from_records(found), traits)


BATCHES = st.builds(built, records(), TRAITS)
MESSAGE_SETS = st.builds(lambda found, how: encode_message_set(found, **how), records(headers=False), SETS)
# Log entries of any magic; an uncompressed message set is several of them.
ENTRIES = st.one_of(BATCHES, BATCHES.map(emptied), MESSAGE_SETS)
