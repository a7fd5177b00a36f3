"""The table of configs, compared with what a real broker describes; resolution and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import octavo
from octavo.config import BROKER_CONFIGS, SYNONYMS, TOPIC_CONFIGS, BrokerConfig, LogConfig, as_text, find
from octavo.errors import ConfigError, OctavoError
from tests.other_defaults import OTHER_DEFAULTS

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "v431-config-defaults.json"
DESCRIBED: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
MAX_LONG = 9223372036854775807
# Accepted by brokers and by us, but never described by a broker.
INTERNAL = {
    "group.consumer.regex.refresh.interval.ms",
    "internal.segment.bytes",
    "log.initial.task.delay.ms",
    "producer.id.expiration.check.interval.ms",
}
OF_THE_AUTHORIZER = {"super.users", "allow.everyone.if.no.acl.found"}  # a plugin's: a broker passes them on unread


def test_a_broker_config_that_nothing_reads_says_so() -> None:
    source = Path(octavo.__file__).parent
    texts = [path.read_text("utf-8") for path in source.rglob("*.py") if path.parent.name != "config"]
    for key in BROKER_CONFIGS.values():
        is_read = any(f".{key.attribute}" in text for text in texts)
        is_refused = key.name in ("log.dirs", "log.dir")
        assert is_read == key.is_used or is_refused, key.name
    for key in (*BROKER_CONFIGS.values(), *TOPIC_CONFIGS.values()):
        assert key.is_used != ("does not use it" in key.doc), key.name


class TestTheTableIsABrokers:
    """The table says what a broker of Kafka 4.3.1 answers to describeConfigs."""

    def test_topic_configs_are_all_there(self) -> None:
        assert {name for name, key in TOPIC_CONFIGS.items() if not key.internal} == set(DESCRIBED["TOPIC"])

    def test_internal_configs_are_those_a_broker_hides(self) -> None:
        assert {
            key.name for key in [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()] if key.internal
        } == INTERNAL | OF_THE_AUTHORIZER

    @pytest.mark.parametrize("name", DESCRIBED["TOPIC"])
    def test_a_topic_config_is_as_described(self, name: str) -> None:
        key, described = TOPIC_CONFIGS[name], DESCRIBED["TOPIC"][name]
        assert key.kind.name == described["type"]
        # A broker lists only the synonyms that have a value.
        ours = [synonym.name for synonym in key.synonyms]
        assert [synonym for synonym in ours if synonym in described["synonyms"]] == list(
            dict.fromkeys(described["synonyms"])
        )
        if described["source"] == "STATIC_BROKER_CONFIG":  # retention.ms, whose default is described in hours
            assert (
                getattr(LogConfig.of({}, {"log.retention.hours": described["default"]}), key.attribute) == key.default
            )
        else:
            assert key.parse(described["value"]) == key.default

    @pytest.mark.parametrize("name", sorted({*BROKER_CONFIGS} - INTERNAL - OF_THE_AUTHORIZER))
    def test_a_broker_config_is_as_described(self, name: str) -> None:
        key, described = BROKER_CONFIGS[name], DESCRIBED["BROKER"][name]
        assert key.kind.name == described["type"]
        default = None if described["default"] is None else key.parse(described["default"])
        assert (default == key.default) is (name not in OTHER_DEFAULTS)

    @pytest.mark.parametrize("name", SYNONYMS)
    def test_a_synonym_is_as_described(self, name: str) -> None:
        (key, synonym), described = SYNONYMS[name], DESCRIBED["BROKER"][name]
        broker_key = key.of_synonym(synonym)
        assert (broker_key.name, broker_key.kind.name) == (name, described["type"])
        if name != "log.retention.ms":  # described with the default of log.retention.hours
            assert broker_key.default == (
                None if described["default"] is None else broker_key.parse(described["default"])
            )
            assert broker_key.default is None or synonym.convert(broker_key.default) == key.default


class TestDefaults:
    def test_attributes_are_kafkas_names_with_underscores(self) -> None:
        config, broker = LogConfig(), BrokerConfig()
        assert {name: getattr(config, key.attribute) for name, key in TOPIC_CONFIGS.items()} == {
            name: key.default for name, key in TOPIC_CONFIGS.items()
        }
        assert {name: getattr(broker, name.replace(".", "_")) for name in BROKER_CONFIGS} == {
            name: key.default for name, key in BROKER_CONFIGS.items()
        }
        assert LogConfig.of() == config
        assert BrokerConfig.of() == broker

    def test_rolling_has_kafkas_defaults(self) -> None:
        config = LogConfig.of()
        assert config.segment_bytes == 1073741824  # I5
        assert config.segment_ms == 168 * 3600 * 1000  # I5
        assert config.segment_index_bytes == 10485760  # I5
        assert config.index_interval_bytes == 4096  # I1

    def test_cleaning_has_kafkas_defaults(self) -> None:
        config, broker = LogConfig.of(), BrokerConfig.of()
        assert config.cleanup_policy == ("delete",)  # C1
        assert broker.log_retention_check_interval_ms == 300000  # C2
        assert config.retention_ms == 168 * 3600 * 1000  # C2
        assert config.file_delete_delay_ms == 60000  # C4
        assert config.retention_bytes == -1  # C5
        assert config.min_cleanable_dirty_ratio == 0.5  # C9
        assert broker.log_cleaner_threads == 1  # C9
        assert (broker.log_cleaner_dedupe_buffer_size, broker.log_cleaner_io_buffer_load_factor) == (128 << 20, 0.9)
        assert config.delete_retention_ms == 86400000  # C11

    def test_flush_is_left_to_the_operating_system(self) -> None:  # D1
        config = LogConfig.of()
        assert (config.flush_messages, config.flush_ms) == (MAX_LONG, MAX_LONG)

    def test_the_producers_codec_stays(self) -> None:
        assert LogConfig.of().compression_type == "producer"

    def test_timestamps_are_the_producers(self) -> None:
        assert LogConfig.of().message_timestamp_type == "CreateTime"
        assert LogConfig.of({}, {"log.message.timestamp.type": "LogAppendTime"}).message_timestamp_type == (
            "LogAppendTime"
        )


RETENTION = {"log.retention.hours": "5", "log.retention.minutes": "7", "log.retention.ms": "9"}


class TestResolution:
    @pytest.mark.parametrize(
        ("broker", "expected"),
        [
            (["log.retention.hours"], 5 * 3600000),
            (["log.retention.hours", "log.retention.minutes"], 7 * 60000),
            (["log.retention.minutes", "log.retention.hours"], 7 * 60000),
            (["log.retention.hours", "log.retention.ms"], 9),
            (["log.retention.ms", "log.retention.minutes", "log.retention.hours"], 9),
        ],
    )
    def test_retention_ms_goes_before_minutes_before_hours(self, broker: list[str], expected: int) -> None:  # C2
        assert LogConfig.of({}, {name: RETENTION[name] for name in broker}).retention_ms == expected

    def test_roll_ms_goes_before_roll_hours(self) -> None:  # I5
        assert LogConfig.of({}, {"log.roll.hours": "2"}).segment_ms == 7200000
        assert LogConfig.of({}, {"log.roll.hours": "2", "log.roll.ms": "3"}).segment_ms == 3
        assert LogConfig.of({}, {"log.roll.jitter.hours": "1"}).segment_jitter_ms == 3600000

    def test_flush_ms_falls_back_to_the_schedulers_interval(self) -> None:  # D1
        broker = {"log.flush.scheduler.interval.ms": "77"}
        assert LogConfig.of({}, broker).flush_ms == 77
        assert LogConfig.of({}, {**broker, "log.flush.interval.ms": "5"}).flush_ms == 5
        assert BrokerConfig.of(broker).log_flush_scheduler_interval_ms == 77

    def test_the_topic_goes_before_the_broker(self) -> None:
        config = LogConfig.of({"retention.ms": "1"}, {"log.retention.ms": "2", "log.segment.bytes": "3000"})
        assert (config.retention_ms, config.segment_bytes) == (1, 3000)

    @pytest.mark.parametrize("name", ["log.retention.ms", "log.retention.minutes", "log.retention.hours"])
    def test_a_brokers_retention_below_0_has_no_limit_and_0_is_refused(self, name: str) -> None:
        assert LogConfig.of({}, {name: "-5"}).retention_ms == -1
        with pytest.raises(ConfigError, match=f"^{name} is '0', expected ≥ 1 or negative$"):
            LogConfig.of({}, {name: "0"})

    def test_a_small_segment_size_is_accepted_under_both_names(self) -> None:
        assert LogConfig.of({"segment.bytes": "5120"}).segment_bytes == 5120
        config = LogConfig.of({"internal.segment.bytes": "5120", "segment.bytes": "1048576"})
        assert (config.segment_bytes, config.internal_segment_bytes) == (5120, 5120)

    def test_values_may_be_given_as_they_are(self) -> None:
        config = LogConfig.of({"segment.bytes": 5120, "preallocate": True, "min.cleanable.dirty.ratio": 0.25})
        assert (config.segment_bytes, config.preallocate, config.min_cleanable_dirty_ratio) == (5120, True, 0.25)
        assert LogConfig.of({"cleanup.policy": ["compact", "delete"]}).cleanup_policy == ("compact", "delete")

    def test_the_broker_reads_its_own_configs_from_the_same_settings(self) -> None:
        broker = {"log.cleaner.threads": "2", "log.retention.hours": "1", "log.dirs": "a, b,a"}
        config = BrokerConfig.of(broker)
        assert (config.log_cleaner_threads, config.log_dirs) == (2, ("a", "b"))
        assert LogConfig.of({}, broker).retention_ms == 3600000

    def test_cleanup_policy_is_delete_or_compact_or_both_or_none_by_broker_and_by_topic(self) -> None:  # C1
        assert LogConfig.of({}, {"log.cleanup.policy": "compact"}).cleanup_policy == ("compact",)
        both = LogConfig.of({"cleanup.policy": "delete, compact, delete"}, {"log.cleanup.policy": "compact"})
        assert both.cleanup_policy == ("delete", "compact")
        assert LogConfig.of({"cleanup.policy": ""}).cleanup_policy == ()

    def test_a_config_does_not_change(self) -> None:
        with pytest.raises(AttributeError):
            LogConfig().segment_bytes = 1  # type: ignore[misc]


class TestRefusals:
    def test_an_error_is_ours_and_a_value_error(self) -> None:
        assert issubclass(ConfigError, OctavoError)
        assert issubclass(ConfigError, ValueError)

    @pytest.mark.parametrize(
        ("topic", "message"),
        [
            ({"segmnt.bytes": "1"}, "segmnt.bytes is not a topic config (did you mean segment.bytes?)"),
            ({"Segment.bytes": "1"}, "Segment.bytes is not a topic config (did you mean segment.bytes?)"),
            ({"zzz": "1"}, "zzz is not a topic config (`octavo config` lists them)"),
            ({"log.roll.hours": "1"}, "log.roll.hours is a broker config, expected a topic config: segment.ms"),
            ({"message.format.version": "2.0"}, "message.format.version is not a topic config: Kafka 4.0 removed it"),
            ({"segment.ms": "0"}, "segment.ms is '0', expected ≥ 1"),
            ({"segment.ms": "soon"}, "segment.ms is 'soon', expected an integer of 64 bits"),
            ({"segment.bytes": "2147483648"}, "segment.bytes is '2147483648', expected an integer of 32 bits"),
            ({"segment.bytes": 13}, "segment.bytes is '13', expected ≥ 14"),
            ({"preallocate": "yes"}, "preallocate is 'yes', expected true or false"),
            ({"min.cleanable.dirty.ratio": "NaN"}, "min.cleanable.dirty.ratio is 'NaN', expected a decimal number"),
            ({"min.cleanable.dirty.ratio": 1.5}, "min.cleanable.dirty.ratio is '1.5', expected 0 to 1"),
            ({"cleanup.policy": "Compact"}, "cleanup.policy is 'Compact', expected any of compact, delete"),
            ({"message.timestamp.type": "now"}, "message.timestamp.type is 'now', expected one of CreateTime, "),
            ({"compression.gzip.level": "0"}, "compression.gzip.level is '0', expected 1 to 9 or -1"),
            (
                {"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"},
                "min.compaction.lag.ms is 2, expected at most max.compaction.lag.ms, which is 1",
            ),
        ],
    )
    def test_wrong_configs_of_a_topic_are_refused(self, topic: dict[str, str], message: str) -> None:
        with pytest.raises(ConfigError) as refused:
            LogConfig.of(topic)
        assert str(refused.value).startswith(message)

    @pytest.mark.parametrize(
        ("broker", "message"),
        [
            (
                {"log.retention.hour": "1"},
                "log.retention.hour is not a broker config (did you mean log.retention.hours?)",
            ),
            ({"segment.bytes": "1"}, "segment.bytes is not a broker config (did you mean log.segment.bytes?)"),
            ({"log.roll.ms": "9", "log.roll.hours": "0"}, "log.roll.hours is '0', expected ≥ 1"),
            ({"log.roll.hours": "2147483648"}, "log.roll.hours is '2147483648', expected an integer of 32 bits"),
            ({"log.cleaner.threads": "0"}, "log.cleaner.threads is '0', expected ≥ 1"),
            ({"log.dirs": ""}, "log.dirs is '', expected at least one element, none empty"),
            (
                {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "2097152"},
                "log.cleaner.dedupe.buffer.size is 2097152 with log.cleaner.threads=2, expected more than 1048576",
            ),
        ],
    )
    def test_wrong_configs_of_a_broker_are_refused(self, broker: dict[str, str], message: str) -> None:
        with pytest.raises(ConfigError) as refused:
            BrokerConfig.of(broker)
        assert str(refused.value).startswith(message)


class TestFind:
    def test_a_synonym_is_described_as_the_broker_config_that_it_is(self) -> None:
        key = find("log.retention.hours")
        assert (key.kind.name, key.default_text, str(key.valid)) == ("INT", "168", "≥ 1 or negative")
        assert key.summary == (
            "The default of retention.ms, given in hours; "
            "used if neither log.retention.ms nor log.retention.minutes is set."
        )
        assert find("log.roll.ms").summary == "The default of segment.ms."
        assert find("log.roll.ms").default_text == "null"

    def test_a_name_of_both_kinds_is_the_topics(self) -> None:
        assert find("compression.type") is TOPIC_CONFIGS["compression.type"]
        assert find("log.flush.scheduler.interval.ms") is BROKER_CONFIGS["log.flush.scheduler.interval.ms"]

    def test_an_empty_default_is_shown_as_such(self) -> None:
        assert find("cordoned.log.dirs").default_text == "(empty)"


class TestParse:
    def test_each_kind_of_name_is_parsed(self) -> None:
        assert find("segment.bytes").parse(" 5120 ") == 5120
        assert find("log.dirs").parse("a,b") == ("a", "b")
        assert find("log.retention.hours").parse("2") == 2
        assert find("compression.type").parse("zstd") == "zstd"
        with pytest.raises(ConfigError, match=r"^log\.roll\.hour is not a config \(did you mean log\.roll\.hours\?\)$"):
            find("log.roll.hour").parse("2")

    @given(st.sampled_from([*TOPIC_CONFIGS, *BROKER_CONFIGS, *SYNONYMS]), st.text())
    def test_any_text_is_a_value_or_a_config_error(self, name: str, text: str) -> None:
        try:
            find(name).parse(text)
        except ConfigError as error:
            assert str(error).startswith(f"{name} is ")

    @pytest.mark.parametrize("key", [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()], ids=lambda key: str(key.name))
    def test_a_default_survives_as_text(self, key: Any) -> None:
        assert key.default is None or key.parse(as_text(key.default)) == key.default
