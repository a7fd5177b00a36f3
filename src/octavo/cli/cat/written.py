"""Counts what `octavo cat --output` has written: progress while it runs, and a line at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from octavo.cli.options import echo, many
from octavo.scanner.reading.plan import ReadTask
from octavo.scanner.reading.records import ConsumerRecord
from octavo.system.runner import Progress

_RECORDS_AT_ONCE = 4096


class CountedRecords:
    """Yields the records of tasks, in order, and counts them; progress is reported in bytes of log."""

    def __init__(self, records: Iterable[ConsumerRecord], tasks: Sequence[ReadTask], progress: Progress) -> None:
        self.count = 0
        self._records = iter(records)
        self._tasks = tasks
        self._progress = progress

    def __iter__(self) -> Iterator[ConsumerRecord]:
        reported, before, slot = 0, 0, 0  # bytes, the bytes of the tasks that are done, and the task that is being read
        while several := list(islice(self._records, _RECORDS_AT_ONCE)):
            yield from several
            self.count += len(several)
            last = several[-1]
            while not _holds(self._tasks[slot], last):
                before, slot = before + self._tasks[slot].size, slot + 1
            task = self._tasks[slot]
            offsets = last.offset + 1 - task.start_offset
            done = before + task.size * offsets // (task.end_offset - task.start_offset)
            self._progress(done - reported)
            reported = done


def say_written(output: str, files: int, records: int, size: int) -> None:
    """Print on stderr what was written."""
    echo(f"{output}: {many(files, 'file')}, {many(records, 'record')}, {many(size, 'byte')}", err=True)


def _holds(task: ReadTask, record: ConsumerRecord) -> bool:
    is_there = (task.topic, task.partition) == (record.topic, record.partition)
    return is_there and task.start_offset <= record.offset < task.end_offset
