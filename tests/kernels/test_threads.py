"""Long calls of kernels let other threads run meanwhile, and share nothing but their arguments."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest

from octavo.kernels.columns import RecordColumns
from octavo.kernels.layout import BATCH, Code, Stop
from tests.kernels.hand_made import batch, message, record


def test_threads_share_a_buffer(kernels: SimpleNamespace) -> None:
    """Each thread has its own table and columns; all get the same result."""
    data = batch(record(0, b"key", b"value") * 50, 50) * 20
    results: list[tuple[object, ...]] = []

    def work() -> None:
        table, out = np.zeros(20, BATCH), RecordColumns.empty(1000, len(data))
        walked = kernels.walk(data, 0, len(data), table)
        decoded = kernels.decode_records(data, table, 0, out)
        results.append((walked, decoded, out.rows, bytes(out.value.data[:5000]) if out.value else b""))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [results[0]] * 4
    assert results[0][:3] == ((20, len(data), Stop.END), (Code.DONE, 20, 0, 0), 1000)


LONG_CALLS = ["walk", "decode_records", "decode_messages", "encode_records", "encode_batches"]
LONG_CALLS += ["stamp_batches", "crc32c", "crc32", "xxh32", "murmur2_column"]
VALUE = bytes(4 << 20)
TIMES = 8


def emptied(columns: RecordColumns) -> RecordColumns:
    columns.reset()
    return columns


def long_call(kernels: SimpleNamespace, name: str) -> Callable[[], object]:
    """A call that keeps the kernel busy for some milliseconds."""
    entry = batch(record(0, None, VALUE), 1)
    data, table = entry * TIMES, np.zeros(TIMES, BATCH)
    kernels.walk(data, 0, len(data), table, False)
    out = RecordColumns.empty(TIMES, len(data))
    kernels.decode_records(data, table, 0, out)
    values = out.value
    assert values is not None
    messages = message(0, None, VALUE) * TIMES
    space, stamped, other_type = bytearray(len(data) + 100), bytearray(data), cycle([True, False])
    calls: dict[str, Callable[[], object]] = {
        "walk": lambda: kernels.walk(data, 0, len(data), table),
        "decode_records": lambda: kernels.decode_records(data, table, 0, emptied(out)),
        "decode_messages": lambda: kernels.decode_messages(messages, 0, len(messages), emptied(out)),
        "encode_records": lambda: kernels.encode_records(out, 0, TIMES, 0, 0, space, 0),
        "encode_batches": lambda: kernels.encode_batches(out, 0, table, space, 0),
        "stamp_batches": lambda: kernels.stamp_batches(
            stamped, table, 0, 0, next(other_type), np.zeros(TIMES, np.int64)
        ),
        "murmur2_column": lambda: kernels.murmur2_column(values.offsets, values.data, np.zeros(8, np.int32)),
        "crc32c": lambda: kernels.crc32c(data),
        "crc32": lambda: kernels.crc32(data),
        "xxh32": lambda: kernels.xxh32(data),
    }
    return calls[name]


@pytest.fixture
def no_forced_switch() -> Iterator[None]:
    """No thread loses the interpreter's lock unless it releases it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(interval)


def pass_through(gate: threading.Lock, ran: list[bool]) -> None:
    with gate:
        ran.append(True)


@pytest.mark.usefixtures("no_forced_switch")
@pytest.mark.parametrize("kernels", ["compiled"], indirect=True)
@pytest.mark.parametrize("name", LONG_CALLS)
def test_another_thread_runs_meanwhile(kernels: SimpleNamespace, name: str) -> None:
    call = long_call(kernels, name)
    ran: list[bool] = []
    # The kernel may finish before the system wakes the other thread; then it is tried again.
    for _ in range(200):
        gate = threading.Lock()
        gate.acquire()
        other = threading.Thread(target=pass_through, args=(gate, ran))
        other.start()
        ran.clear()
        gate.release()
        call()
        ran_meanwhile = bool(ran)
        other.join()
        if ran_meanwhile:
            break
    assert ran_meanwhile
