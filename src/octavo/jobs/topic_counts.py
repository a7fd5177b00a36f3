"""The counts of topics in log directories: a row a partition, and what was not counted, or not as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from octavo.jobs.count import PartitionCount, count, plan
from octavo.scanner.findings import Note, ScanFindings
from octavo.scanner.log_dirs import Place, open_log_dirs
from octavo.scanner.places.selection import TopicSelection
from octavo.system.runner import Progress, Runner


class TopicCounts:
    """Of the named topics, or of all. Planned when it is made, counted by `rows`.

    `planned` are the notes of what was found before anything is counted; `counted` and `damage_count` are complete once
    the rows are at their end.
    """

    def __init__(self, places: Place | Sequence[Place], topics: Sequence[str] = ()) -> None:
        self._log_dirs = open_log_dirs(places, (lambda wanted: wanted.topic in topics) if topics else None)
        TopicSelection.of(topics or None).check(
            self._log_dirs.partitions, self._log_dirs.topics(), self._log_dirs.shown()
        )
        findings = ScanFindings("skip")
        self._plans = plan(self._log_dirs.partitions.values(), findings=findings)
        self.planned: list[Note] = [*self._log_dirs.notes, *findings.notes]
        self.counted: list[Note] = []
        self.damage_count = findings.damage_count + len(self._log_dirs.unreadable())

    @property
    def size(self) -> int:
        """How many bytes are read."""
        return sum(task.size for planned in self._plans for task in planned.tasks)

    def rows(self, runner: Runner, progress: Progress | None = None) -> Iterator[PartitionCount]:
        """The partitions in their order; those that went away meanwhile have a note."""
        of_rows: list[Note] = []
        for row in count(self._plans, runner, progress):
            if isinstance(row, Note):
                self.counted.append(row)
                continue
            of_rows += row.tally.notes
            self.damage_count += row.tally.damage_count
            yield row
        of_roots = [note for directory in self._log_dirs.directories for note in directory.root.notes]
        self.counted += of_rows + of_roots
        self.damage_count += sum(note.is_damage for note in of_roots)
