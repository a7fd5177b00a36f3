"""The members that want a topic, by how many partitions they have: who gets the next one, and who gives one up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Loads:
    """The members in the order of their loads. Those with the fewest partitions form a range at one end, which grows
    towards the middle as they get more; those with the most form a range at the other end.

    `sizes` has the number of partitions of each member, and is kept current by the caller; `places` orders members that
    have equally many.
    """

    def __init__(self, members: Sequence[str], sizes: Mapping[str, int], places: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._members = sorted(members, key=lambda member: (sizes[member], places[member]))
        self._least_end, self._least, self._next_least = 0, sizes[self._members[0]] - 1, 0
        self._most_start = self._most_end = len(self._members)
        self._most, self._next_most = sizes[self._members[-1]] + 1, len(self._members) - 1
        self.difference = self._most - self._least - 2

    @property
    def is_balanced(self) -> bool:
        return self._most - self._least <= 1

    def next_least(self) -> str:
        """The next member to get a partition."""
        if self._next_least >= self._least_end:
            self._least += 1
            while self._least_end < len(self._members) and self._size(self._least_end) == self._least:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._members[self._next_least - 1]

    def next_most(self, held: Mapping[str, Sequence[object]]) -> str | None:
        """The next member to give up a partition; None if there is none. `held` has the partitions that each member can
        give up."""
        while not self.is_balanced:
            place = self._next_place()
            if place < 0:
                return None
            member = self._members[place]
            if held.get(member):
                return member
            self._most_end -= 1  # it has nothing to give, and leaves the range
            self._members[place], self._members[self._most_end] = self._members[self._most_end], member
        return None

    def _next_place(self) -> int:
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most = self._size(self._most_start - 1)
            else:
                self._most -= 1
            while self._most_start > 0 and self._size(self._most_start - 1) == self._most:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most >= 0:
            self._next_most -= 1
            return self._next_most + 1
        return -1

    def _size(self, place: int) -> int:
        return self._sizes[self._members[place]]
