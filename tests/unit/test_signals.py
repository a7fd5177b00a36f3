"""Signals: waits that end when notified, hold no lock, and leave nothing behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from octavo.system.signals import Signal


def test_a_wait_ends_when_its_condition_holds() -> None:
    signal, done, waiting = Signal(), list[int](), threading.Semaphore(0)

    def is_so() -> bool:
        waiting.release()
        return bool(done)

    with ThreadPoolExecutor(4) as threads:
        waits = [threads.submit(signal.wait, is_so, 10) for _ in range(4)]
        for _ in range(8):  # each thread asks before it has its latch, and once more after that
            assert waiting.acquire(timeout=10)
        signal.notify()  # the condition does not hold yet, so they keep waiting
        done.append(1)
        signal.notify()
        assert all(wait.result() for wait in waits)


def test_a_change_between_two_checks_is_noticed() -> None:
    """The change comes after the first check and before the latch, when `notify` finds no thread to wake."""
    looks = iter([False, True, True])
    assert Signal().wait(lambda: next(looks))


def test_a_wait_ends_after_its_time() -> None:
    signal = Signal()
    assert not signal.wait(lambda: False, 0.001)
    assert signal.wait(lambda: True, 0)
    assert not signal.wait(lambda: False, 0)
    assert not signal._latches


def test_an_interrupt_leaves_nothing_behind() -> None:
    signal, looks = Signal(), iter([False, None])

    def is_so() -> bool:
        look = next(looks)
        if look is None:
            raise KeyboardInterrupt
        return look

    with pytest.raises(KeyboardInterrupt):
        signal.wait(is_so)
    assert not signal._latches
    signal.notify()
