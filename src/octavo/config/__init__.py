"""Kafka's configs of topics, brokers and groups, in tables.

`topic`, `broker` and `groups` hold the rows; `table` finds and parses them; `resolved` has the
effective configs.
"""

from octavo.config.key import ConfigKey, Synonym, Unit
from octavo.config.kinds import ConfigType, ConfigValue, Given, as_text
from octavo.config.resolved import BrokerConfig, LogConfig
from octavo.config.table import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS, find

__all__ = [
    "BROKER_CONFIGS",
    "SYNONYMS",
    "TOPIC_CONFIGS",
    "BrokerConfig",
    "ConfigKey",
    "ConfigType",
    "ConfigValue",
    "Given",
    "LogConfig",
    "Synonym",
    "Unit",
    "as_text",
    "find",
]
