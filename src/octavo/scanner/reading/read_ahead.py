"""An iterator that works ahead in its own thread while its consumer is busy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import NamedTuple, TypeVar

_Item = TypeVar("_Item")

# One in the consumer's hands, one waiting, one being made.
_WAITING = 1
_POLL_SECONDS = 0.1


class _End(NamedTuple):
    """Follows the last item, with the error that ended the iteration, if any."""

    error: BaseException | None = None


def read_ahead(items: Iterable[_Item]) -> Iterator[_Item]:
    """The same items; an error is raised after those that precede it. Closing this iterator ends the thread."""
    queue: Queue[_Item | _End] = Queue(_WAITING)
    stopped = Event()
    thread = Thread(target=_produce, args=(items, queue, stopped), name="octavo-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
            del item  # so that its memory can be reused
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                queue.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
        thread.join()


def _produce(items: Iterable[_Item], queue: Queue[_Item | _End], stopped: Event) -> None:
    try:
        for item in items:
            _put(queue, item, stopped)
            del item
            if stopped.is_set():
                return
        _put(queue, _End(), stopped)
    except BaseException as error:
        _put(queue, _End(error), stopped)


def _put(queue: Queue[_Item | _End], item: _Item | _End, stopped: Event) -> None:
    while not stopped.is_set():
        try:
            queue.put(item, timeout=_POLL_SECONDS)
            return
        except Full:
            continue
