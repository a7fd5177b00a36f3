"""The group coordinator: all requests about groups, from this process and from the network, come here."""

from __future__ import annotations

from octavo.coordinator.groups.admin import GroupAdmin
from octavo.coordinator.groups.committed import CommittedOffsets
from octavo.coordinator.groups.configs import GroupConfigs
from octavo.coordinator.groups.consumers import GroupConsumers
from octavo.coordinator.groups.driver import GroupDriver
from octavo.coordinator.groups.local_members import LocalMembers
from octavo.coordinator.groups.members import ClassicMembers
from octavo.coordinator.groups.store import GroupStore
from octavo.coordinator.internal_topics import consumer_offsets
from octavo.format.compression import Codec
from octavo.storage.log_manager import LogManager

_MINUTE_MS = 60_000


class GroupCoordinator:
    """Groups and their offsets, in parts: `members` serves members that use the classic protocol, `consumers` those
    that use the consumer protocol, and `local` the members in this process; `offsets` has commits and fetches,
    `configs` what was set for individual groups, `admin` the rest.

    Thread-safe. All but `configs` share one lock, and the state that is rebuilt from `__consumer_offsets`.
    """

    def __init__(self, log_manager: LogManager) -> None:
        environment, config = log_manager.environment, log_manager.broker_config
        clock = environment.clock
        codec = Codec(config.offsets_topic_compression_codec)
        store = GroupStore(consumer_offsets(log_manager), clock, codec)
        self.configs = GroupConfigs(log_manager)
        driver = GroupDriver(store, log_manager, self.configs)
        self.members = ClassicMembers(driver)
        self.consumers = GroupConsumers(store, driver, clock)
        self.local = LocalMembers(self.consumers)
        self.offsets = CommittedOffsets(store, clock, config.offset_metadata_max_bytes, driver.set_timer)
        self.admin = GroupAdmin(store, clock, config.offsets_retention_minutes * _MINUTE_MS)
        self._scheduler = environment.scheduler
        self._check_interval_ms = config.offsets_retention_check_interval_ms

    def start_upkeep(self) -> None:
        """Regularly delete the offsets that have expired (`commit_rules.expired`)."""
        period_ms = self._check_interval_ms
        self._scheduler.schedule("expire-offsets", self.admin.expire_offsets, delay_ms=period_ms, period_ms=period_ms)
