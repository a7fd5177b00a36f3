"""The configs of a `LogManager` that change while it runs: those of the broker, and what they give its topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from octavo.config import BrokerConfig, Given, LogConfig
from octavo.config.table import parse_topic
from octavo.errors import ConfigError
from octavo.storage.directory.log_root import LogRoot
from octavo.storage.directory.log_roots import live, replace_everywhere
from octavo.storage.topics.broker_configs import BROKER_FILE
from octavo.storage.topics.topic_configs import TopicConfigs

_ALL_DIRECTORIES = "*"
_CORDONED = "cordoned.log.dirs"


class DynamicConfigs:
    """The given configs and those in the directories' files, by the precedence of `BrokerConfigs`.

    Whoever alters them holds the logs' lock.

    `check` raises ConfigError for configs that cannot be used.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        given: Mapping[str, Given],
        explicit: Mapping[str, Mapping[str, Given]],
        check: Callable[[BrokerConfig], None],
    ) -> None:
        self.broker = BrokerConfig.of(given)
        _check_given(given, explicit)
        _check_cordoned(paths, self.broker)
        self.topics = TopicConfigs(given, explicit)
        self._roots: Sequence[LogRoot] = ()
        self._check = check
        self._listeners: list[Callable[[BrokerConfig], None]] = []

    def read(self, roots: Sequence[LogRoot]) -> None:
        """Read the files of the directories, which are locked now."""
        self._roots = roots
        given = self.topics.broker
        for root in live(roots):
            with root.unless_offline():
                root.metadata_users = self.topics.read(root.files, root.path).users
        self.topics.check_explicit()
        self._set(self.broker if self.topics.broker == given else BrokerConfig.of(self.topics.broker))

    def on_change(self, listener: Callable[[BrokerConfig], None]) -> None:
        """Call a function with the broker's configs after each change."""
        self._listeners.append(listener)

    def alter(self, changes: Mapping[str, str | None], *, of_cluster: bool, dry_run: bool) -> None:
        """Change configs of the broker or of its cluster, in every directory in use; None removes one."""
        after = self.topics.brokers.with_changes(changes, of_cluster=of_cluster)
        LogConfig.of({}, after.effective)
        config = BrokerConfig.of(after.effective)
        if _CORDONED in changes:  # an older value may name directories that are not open now
            _check_cordoned([root.path for root in self._roots], config)
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
        for root in self._roots:
            root.is_cordoned = any(_is_named(root.path, name) for name in config.cordoned_log_dirs)


def _check_given(broker: Mapping[str, Given], explicit: Mapping[str, Mapping[str, Given]]) -> None:
    """Refuse invalid configs before anything is opened or changed."""
    for name in ("log.dirs", "log.dir"):
        if name in broker:
            raise ConfigError(f"{name} is given as a config: pass the directories as the first argument instead")
    for own in explicit.values():
        parse_topic(own)


def _check_cordoned(paths: Sequence[Path], config: BrokerConfig) -> None:
    """Refuse a cordoned.log.dirs that names a directory other than these.

    Names in the directories' own files are not checked: a copy of one directory may be opened without the others.
    """
    for name in config.cordoned_log_dirs:
        if not any(_is_named(path, name) for path in paths):
            expected = f"{_ALL_DIRECTORIES} or log directories: {', '.join(map(str, paths))}"
            raise ConfigError(f"{_CORDONED} names {name}, expected {expected}")


def _is_named(path: Path, name: str) -> bool:
    """Whether cordoned.log.dirs names this directory, in whatever spelling."""
    return name == _ALL_DIRECTORIES or Path(name).resolve() == path.resolve()
