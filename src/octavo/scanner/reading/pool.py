"""Columns that are lent to consumers and reused once nobody holds them.

A reader of record batches may keep them as long as it likes (a table keeps all), so the memory of a batch must not be
refilled as long as it exists. New memory for each batch would be safe, but three to four times as expensive as memory
already in use. So batches are made over views of the columns' arrays: Arrow's buffers keep the views alive, the pool
has weak references to them, and columns whose views are all gone are free again.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from octavo.kernels.columns import BinaryColumn, RecordColumns, Scalar
from octavo.kernels.layout import Column

# A consumer that works on one batch while the next is made holds two; one that writes row groups holds all batches of a
# group (32 of 2 MB). Beyond this many, the pool assumes that the consumer keeps them.
_REMEMBERED = 40

_Views = list[weakref.ref[Any]]


class ColumnPool:
    """Columns for one reader. Not thread-safe, though batches may be dropped in any thread."""

    def __init__(self, wanted: Column) -> None:
        self.wanted = wanted
        self._lent: deque[tuple[RecordColumns, _Views]] = deque()

    def take(self) -> RecordColumns:
        """Columns that nobody holds: returned ones, or new ones."""
        for slot, (columns, views) in enumerate(self._lent):
            if all(view() is None for view in views):
                del self._lent[slot]
                return columns
        if len(self._lent) > _REMEMBERED:
            self._lent.popleft()
        return RecordColumns.empty(0, 0, columns=self.wanted)

    def lend(self, columns: RecordColumns) -> RecordColumns:
        """The same columns as views, to build a record batch on; they come back when the batch is dropped."""
        views: _Views = []
        lent = replace(
            columns,
            offset=_view(columns.offset, views),
            timestamp=_view(columns.timestamp, views),
            key=_binary(columns.key, views),
            value=_binary(columns.value, views),
            header_offsets=None if columns.header_offsets is None else _view(columns.header_offsets, views),
            header_key=_binary(columns.header_key, views),
            header_value=_binary(columns.header_value, views),
        )
        self._lent.append((columns, views))
        return lent


_of_thread = threading.local()


def pool_of_thread(wanted: Column) -> ColumnPool:
    """The pool that this thread last used if it has these columns, so that a task reuses the memory of the previous
    one; otherwise a new one."""
    pool: ColumnPool | None = getattr(_of_thread, "pool", None)
    if pool is None or pool.wanted != wanted:
        pool = _of_thread.pool = ColumnPool(wanted)
    return pool


def _view(array: NDArray[Scalar], views: _Views) -> NDArray[Scalar]:
    view = array.view()
    views.append(weakref.ref(view))
    return view


def _binary(column: BinaryColumn | None, views: _Views) -> BinaryColumn | None:
    if column is None:
        return None
    validity = None if column.validity is None else _view(column.validity, views)
    return BinaryColumn(_view(column.offsets, views), _view(column.data, views), validity, column.nulls)
