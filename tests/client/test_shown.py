"""What Python shows of the objects that users hold."""

from __future__ import annotations

import pytest

import octavo
from octavo.system import shown
from tests.client.stores import Store


def test_a_log_dir_and_its_clients_show_what_they_hold(store: Store) -> None:
    store.logs.create_topic("orders", 3)
    store.logs.create_topic("payments", 1)
    assert repr(store.logs) == f"<LogDir {store.folder}: 2 topics, 4 partitions, 0 bytes>"
    producer = store.logs.producer(transactional_id="payments")
    assert repr(producer) == "<Producer payments: nothing sent yet>"
    with producer.transaction():
        future = producer.send("orders", b"v" * 2000, partition=1)
        assert repr(future) == "<RecordFuture orders-1, waiting>"
    assert repr(producer) == "<Producer payments: orders>"
    consumer = store.logs.consumer("orders", group="g")
    assert repr(consumer) == "<Consumer of group g: no partitions yet>"
    assert len(list(consumer)) == 1
    assert repr(consumer) == "<Consumer of group g: orders-0, orders-1, orders-2>"
    assert octavo.scan(store.logs.paths, "orders").count() == 1
    html = store.logs._repr_html_()
    assert "<tr><td>orders</td><td>3</td><td>2</td><td>2.1 KiB</td></tr>" in html  # a record and a marker
    store.logs.close()
    assert repr(store.logs) == f"<LogDir {store.folder}: closed>"
    assert (repr(producer), repr(consumer)) == ("<Producer payments: closed>", "<Consumer of group g: closed>")
    assert "closed" in store.logs._repr_html_()


def test_a_log_dir_that_could_not_be_opened_is_shown_as_closed() -> None:
    """Debuggers and test reports show objects whose constructor failed."""
    assert repr(octavo.LogDir.__new__(octavo.LogDir)) == "<LogDir : closed>"


def test_a_scan_shows_what_it_covers(store: Store) -> None:
    store.logs.create_topic("orders", 2)
    with store.logs.producer() as producer:
        producer.send("orders", b"v" * 20_000, partition=0)
    scan = octavo.scan(store.folder)
    assert repr(scan) == f"<Scan {store.folder}: 1 topic, 2 partitions, 20 KiB>"
    assert "<tr><td>orders</td><td>2</td><td>2</td><td>20 KiB</td></tr>" in scan._repr_html_()
    assert repr(scan.consumer()) == "<ScanConsumer orders-0, orders-1>"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (200_704, "196 KiB"),
        (5 << 30, "5.0 GiB"),
    ],
)
def test_sizes_are_shown_in_binary_units(number: int, text: str) -> None:
    assert shown.size(number) == text


def test_long_lists_are_cut_and_markup_is_escaped() -> None:
    assert shown.some("abcde") == "a, b, c, 2 more"
    table = shown.table("<LogDir>", ["topic"], [[f"<{number}>"] for number in range(60)])
    assert "<LogDir>" not in table and "&lt;49&gt;" in table and "&lt;50&gt;" not in table and "10 more" in table
