"""The effective configs of each topic: Octavo's own file over the cluster's metadata over the broker's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from octavo.config import TOPIC_CONFIGS, Given, LogConfig, as_text
from octavo.config.table import unknown
from octavo.errors import ConfigError, CorruptionError
from octavo.format.names import TOPIC_STORE
from octavo.storage.topics.broker_configs import BrokerConfigs
from octavo.storage.topics.metadata_configs import METADATA_FOLDER, MetadataConfigs, read_metadata_configs
from octavo.storage.topics.topic_store import StoredTopic, read_topics
from octavo.system.filesystem import FilesToRead

DEFAULT_SOURCE = "default"
_REPLACES_SEGMENT_BYTES = "internal.segment.bytes"


class TopicConfigs:
    """The configs of all topics, as found in the directories' files. `stored` is the content of Octavo's own file.

    `interrupted` holds the changes that the files record as begun, by topic and id: one file may say that a topic is
    being deleted while another knows a new topic of that name.
    Explicit configs, by topic, override all others as long as this object lives.
    """

    def __init__(
        self, broker: Mapping[str, Given] | None = None, explicit: Mapping[str, Mapping[str, Given]] | None = None
    ) -> None:
        self.defaults = LogConfig.of({}, broker or {})
        self.stored: dict[str, StoredTopic] = {}
        self.interrupted: dict[tuple[str, bytes], StoredTopic] = {}
        self._metadata: dict[str, dict[str, str]] = {}
        self.brokers = BrokerConfigs(broker or {})
        self.groups: dict[str, dict[str, str]] = {}  # as the cluster's metadata has them
        self._explicit = explicit or {}
        self._known: dict[str, LogConfig] = {}  # one per topic, since there may be thousands of logs

    def read(self, filesystem: FilesToRead, root: Path) -> MetadataConfigs:
        """Read a directory's files. If directories differ, the first wins, unless only it records a change as begun.

        Returns what the cluster's metadata says, so that it need not be read again.
        """
        stored, metadata = read_topics(filesystem, root), read_metadata_configs(filesystem, root)
        for topic, found in stored.items():
            _check(found.configs, topic, root / TOPIC_STORE)
            known = self.stored.get(topic)
            if known is None or (known.pending is not None and found.pending is None):
                self.stored[topic] = found
            if found.pending is not None:
                self.interrupted.setdefault((topic, found.topic_id), found)
        for topic, configs in metadata.topics.items():
            _check(configs, topic, root / METADATA_FOLDER)
        self._metadata = {**metadata.topics, **self._metadata}
        self.groups = {**metadata.groups, **self.groups}
        self._known.clear()
        before = self.broker
        self.brokers.read(filesystem, root, metadata)
        if self.broker != before:
            self.renew()
        return metadata

    def renew(self) -> None:
        """Compute the configs of topics again, after those of the broker have changed."""
        self.defaults = LogConfig.of({}, self.broker)
        self._known.clear()

    @property
    def broker(self) -> dict[str, Given]:
        """The broker's effective configs."""
        return self.brokers.effective

    def check_explicit(self) -> None:
        """Raise ConfigError if explicit configs are invalid."""
        for topic in self._explicit:
            self.of(topic)

    def overrides(self, topic: str, *, is_new: bool = False) -> dict[str, Given]:
        """The configs set on the topic itself; like a broker, leaves out those that this version does not know.

        For a new topic, configs that are still stored for a deleted topic of that name do not count.
        """
        stored = self.stored[topic].configs if topic in self.stored and not is_new else {}
        merged = {**self._metadata.get(topic, {}), **stored}
        return {name: value for name, value in merged.items() if value is not None and name in TOPIC_CONFIGS}

    def source(self, topic: str, name: str) -> str:
        """Where a topic's config comes from: a file, with the config's name there if it differs, or `default`.

        Explicit configs come from no file: they are not considered.
        """
        if name == "segment.bytes" and _REPLACES_SEGMENT_BYTES in self.overrides(topic):
            return f"{self.source(topic, _REPLACES_SEGMENT_BYTES)}: {_REPLACES_SEGMENT_BYTES}"
        key, stored = TOPIC_CONFIGS[name], self.stored[topic].configs if topic in self.stored else {}
        if stored.get(name) is not None:
            return TOPIC_STORE
        if name in self._metadata.get(topic, {}) and name not in stored:
            return METADATA_FOLDER
        synonym = next((synonym.name for synonym in key.synonyms if synonym.name in self.brokers.dynamic), None)
        return DEFAULT_SOURCE if synonym is None else f"{self.brokers.source(synonym)}: {synonym}"

    def inherited(self, topic: str) -> dict[str, Given]:
        """The configs for a replica elsewhere: the topic's own, over those that clients set for the brokers."""
        of_brokers, usual = LogConfig.of({}, self.brokers.dynamic), LogConfig.of()
        changed: dict[str, Given] = {
            key.name: as_text(value)
            for key in TOPIC_CONFIGS.values()
            if (value := getattr(of_brokers, key.attribute)) != getattr(usual, key.attribute)
        }
        return {**changed, **self.overrides(topic)}

    def of_new(self, topic: str, configs: Mapping[str, str | None] | Mapping[str, Given]) -> LogConfig:
        """The effective configs of a topic that is created with these configs."""
        given = {name: value for name, value in configs.items() if value is not None}
        own = {**self.overrides(topic, is_new=True), **given, **self._explicit.get(topic, {})}
        return LogConfig.of(own, self.broker)

    def of(self, topic: str) -> LogConfig:
        """The topic's effective configs."""
        if (config := self._known.get(topic)) is None:
            own = {**self.overrides(topic), **self._explicit.get(topic, {})}
            config = self._known[topic] = LogConfig.of(own, self.broker) if own else self.defaults
        return config

    def keeps_all_offsets(self, topic: str) -> bool:
        """Whether the files know the topic, and it is not compacted: then only its first offsets are ever removed."""
        is_known = topic in self.stored or topic in self._metadata
        return is_known and "compact" not in self.of(topic).cleanup_policy

    def store(self, topic: str, stored: StoredTopic) -> None:
        """Set what Octavo's own file should hold for a topic."""
        self.stored[topic] = stored
        self._known.pop(topic, None)

    def forget(self, topic: str) -> None:
        """Remove a topic from what Octavo's own file should hold."""
        self.stored.pop(topic, None)
        self._known.pop(topic, None)

    def altered(
        self, topic: str, changes: Mapping[str, Given | None], *, is_new: bool = False
    ) -> dict[str, str | None]:
        """A topic's stored configs after changes, where None resets a config to its default; refuses invalid values."""
        stored = dict(self.stored[topic].configs) if topic in self.stored and not is_new else {}
        effective = self.overrides(topic, is_new=is_new)
        for name, value in changes.items():
            if name not in TOPIC_CONFIGS:
                raise unknown("topic config", name, TOPIC_CONFIGS)
            if value is not None:
                stored[name] = as_text(TOPIC_CONFIGS[name].parse(value))
                effective[name] = value
                continue
            effective.pop(name, None)
            stored.pop(name, None)
            if name in self._metadata.get(topic, {}):
                stored[name] = None
        LogConfig.of(effective, self.broker)
        return stored


def _check(configs: Mapping[str, str | None], topic: str, path: Path) -> None:
    """Refuse invalid values, and name the file they are in."""
    known = {name: value for name, value in configs.items() if value is not None and name in TOPIC_CONFIGS}
    try:
        LogConfig.of(known)
    except ConfigError as error:
        raise CorruptionError(f"topic {topic}: {error}", path=str(path)) from None
