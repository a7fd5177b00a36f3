"""The configs of a `LogManager` that change while it runs: those of the broker, and what they give its topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.errors import ConfigError
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, replace_everywhere
from octavo.storage.topics.broker_store import BROKER_FILE
from octavo.storage.topics.topic_configs import TopicConfigs
from octavo.system.filesystem import FilesToRead

_ALL_DIRECTORIES = "*"
_CORDONED = "cordoned.log.dirs"


class DynamicConfigs:
    """What was given, overridden by what the directories' files say. Whoever alters them holds the logs' lock.

    `check` raises ConfigError for configs that cannot be used.
    """

    def __init__(
        self,
        roots: Sequence[LogRoot],
        filesystem: FilesToRead,
        given: Mapping[str, Given],
        explicit: Mapping[str, Mapping[str, Given]],
        check: Callable[[BrokerConfig], None],
    ) -> None:
        self.topics = TopicConfigs(filesystem, [], given, explicit)
        for root in live(roots):
            with root.unless_offline():
                self.topics.read(filesystem, root.path)
        self.topics.check_explicit()
        self._roots = roots
        self._check = check
        self._listeners: list[Callable[[BrokerConfig], None]] = []
        self._set(BrokerConfig.of(self.topics.broker))

    def on_change(self, listener: Callable[[BrokerConfig], None]) -> None:
        """Call a function with the broker's configs after each change."""
        self._listeners.append(listener)

    def alter(self, changes: Mapping[str, str | None], *, of_cluster: bool, dry_run: bool) -> None:
        """Change configs of the broker or of its cluster, in every directory; None removes one."""
        after = self.topics.brokers.with_changes(changes, of_cluster=of_cluster)
        LogConfig.of({}, after.effective)
        config = BrokerConfig.of(after.effective)
        if _CORDONED in changes:  # an older value may name directories that are not open now
            check_cordoned([root.path for root in self._roots], config.cordoned_log_dirs)
        self._check(config)
        if dry_run:
            return
        replace_everywhere(self._roots, BROKER_FILE, after.revision, after.changed)
        self.topics.brokers = after
        self.topics.renew()
        self._set(config)
        for listener in self._listeners:
            listener(config)

    def _set(self, config: BrokerConfig) -> None:
        self.broker = config
        without_new = _cordoned([root.path for root in self._roots], config.cordoned_log_dirs)
        for root in self._roots:
            root.is_cordoned = root.path in without_new


def check_cordoned(paths: Sequence[Path], names: Sequence[str]) -> None:
    """Refuse a cordoned.log.dirs that names a directory other than these."""
    places = {path.resolve() for path in paths}
    for name in names:
        if name != _ALL_DIRECTORIES and Path(name).resolve() not in places:
            expected = f"{_ALL_DIRECTORIES} or log directories: {', '.join(map(str, paths))}"
            raise ConfigError(f"{_CORDONED} names {name}, expected {expected}")


def _cordoned(paths: Sequence[Path], names: Sequence[str]) -> list[Path]:
    """The directories that cordoned.log.dirs names, in whatever spelling.

    A cluster's metadata may name other directories too: directories may be copied, and opened without the broker's
    others.
    """
    if _ALL_DIRECTORIES in names:
        return list(paths)
    places = {Path(name).resolve() for name in names}
    return [path for path in paths if path.resolve() in places]
