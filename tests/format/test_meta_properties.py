"""meta.properties of version 0 and 1."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import CorruptionError, EncodingError
from octavo.format import kafka_uuid
from octavo.format.small_files import meta_properties
from octavo.format.small_files.meta_properties import MetaProperties

WRITTEN = datetime(2026, 11, 15, 21, 0, 37, tzinfo=UTC)
DIRECTORY = "2ALQ2FiLQtSsqUVkZ8sP7g"
KRAFT = (
    b"#\n#Sun Nov 15 21:00:37 UTC 2026\n"
    b"node.id=1\ndirectory.id=2ALQ2FiLQtSsqUVkZ8sP7g\nversion=1\ncluster.id=b2N0YXZvLWdvbGRlbi0wMQ\n"
)
KRAFT_META = MetaProperties(1, "b2N0YXZvLWdvbGRlbi0wMQ", 1, kafka_uuid.from_text(DIRECTORY))


def test_the_text_of_a_kraft_node_is_read_and_written() -> None:
    assert meta_properties.decode(KRAFT) == KRAFT_META
    assert meta_properties.encode(KRAFT_META, WRITTEN) == KRAFT


def test_the_text_of_a_broker_with_zookeeper_is_read_and_written() -> None:
    data = b"#\n#Sun Nov 15 21:00:37 UTC 2026\nbroker.id=1\nversion=0\ncluster.id=tL_UmLkBQAag3sdtBbZlcw\n"
    meta = MetaProperties(0, "tL_UmLkBQAag3sdtBbZlcw", 1)
    assert meta_properties.decode(data) == meta
    assert meta_properties.encode(meta, WRITTEN) == data


def test_the_moment_is_written_in_utc() -> None:
    text = meta_properties.encode(MetaProperties(0), datetime(2024, 2, 5, 0, 30, tzinfo=timezone(timedelta(hours=1))))
    assert text == b"#\n#Sun Feb 04 23:30:00 UTC 2024\nversion=0\n"


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("", MetaProperties(0)),
        ("broker.id=7", MetaProperties(0, None, 7)),
        ("version= 0 \nnode.id=5\n", MetaProperties(0)),
        ("version=1\nnode.id=5\nbroker.id=6\ncluster.id=c", MetaProperties(1, "c", 5)),
        (f"directory.id={DIRECTORY}", MetaProperties(0, directory_id=KRAFT_META.directory_id)),
        ("cluster.id=a\\:b", MetaProperties(0, "a:b")),
        ("broker.id=-1", MetaProperties(0, None, -1)),
    ],
)
def test_keys_may_be_missing(text: str, meta: MetaProperties) -> None:
    assert meta_properties.decode(text.encode()) == meta


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version=2", "of version 2, expected 0 or 1"),
        ("version=-1", "of version -1, expected 0 or 1"),
        ("version=x", "version: expected a whole number, found 'x'"),
        ("version=", "version: expected a whole number, found ''"),
        ("broker.id=x", "broker.id: expected a whole number"),
        ("broker.id=1 ", "broker.id: expected a whole number"),
        ("broker.id=2147483648", "broker.id: expected a number that fits in 32 bits"),
        ("directory.id=x", "directory.id: expected a uuid"),
        ("version=1\nnode.id=1", "of version 1 has no cluster.id"),
        ("version=1\ncluster.id=c", "of version 1 has no node.id"),
        ("version=1\ncluster.id=c\nbroker.id=1", "of version 1 has no node.id"),
        ("cluster.id=\\u00", "four hex digits"),
    ],
)
def test_wrong_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(CorruptionError, match=problem):
        meta_properties.decode(text.encode())


@pytest.mark.parametrize(
    "meta",
    [
        MetaProperties(2, "c", 1),
        MetaProperties(1, None, 1),
        MetaProperties(1, "c", None),
        MetaProperties(1, "c", -1),
        MetaProperties(0, "c", 2**31),
        MetaProperties(0, directory_id=b"short"),
    ],
)
def test_properties_that_cannot_be_written_are_refused(meta: MetaProperties) -> None:
    with pytest.raises(EncodingError):
        meta_properties.encode(meta, WRITTEN)


META = st.builds(
    MetaProperties,
    st.just(1),
    st.text(st.characters(max_codepoint=127)),
    st.integers(0, 2**31 - 1),
    st.none() | st.binary(min_size=16, max_size=16),
)


@given(META, st.datetimes(timezones=st.just(UTC)))
def test_round_trip(meta: MetaProperties, written: datetime) -> None:
    assert meta_properties.decode(meta_properties.encode(meta, written)) == meta
