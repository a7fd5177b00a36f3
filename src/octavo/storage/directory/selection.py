"""Which partitions of its directories a `LogDir` opens: all of them, or those that its owner names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from octavo.format.names import TopicPartition

# A topic stands for all of its partitions.
Only = Collection[TopicPartition | str]


class Selection:
    """Partitions by name; they need not exist."""

    def __init__(self, only: Only | None = None) -> None:
        named = [only] if isinstance(only, str) else only
        self.is_all = named is None
        self._topics = {name for name in named or () if isinstance(name, str)}
        self._partitions = {TopicPartition(*name) for name in named or () if not isinstance(name, str)}

    def include(self, names: Iterable[TopicPartition]) -> None:
        """Add partitions that have to be opened too."""
        self._partitions.update(names)

    def __contains__(self, name: TopicPartition) -> bool:
        return self.is_all or name.topic in self._topics or name in self._partitions
