"""Columns, options and modes of the sink, good and bad: what is compared with Spark's own Kafka sink."""

from __future__ import annotations

from typing import NamedTuple

TIME_MS = 1_700_000_000_000
KEYED = "'k' key, 'v' value"
_HEADER = "array(struct('h' key, cast('x' as binary) value))"


class Case(NamedTuple):
    """One write: its subject, the selected columns, and the options besides the topic."""

    what: str
    columns: str
    options: dict[str, str] = {}  # noqa: RUF012 - never changed
    mode: str = "append"  # the save mode, or a stream's output mode
    is_stream: bool = False
    has_topic: bool = True  # whether the option `topic` is set

    @property
    def name(self) -> str:
        parts = [self.what]
        if self.what == "columns":
            parts.append(f"`{self.columns}`")
        parts += [f"`{name}={value}`" for name, value in self.options.items()]
        return " ".join(parts)


CASES = [
    Case("columns", KEYED),
    Case("columns", "cast('k' as binary) key, cast('v' as binary) value"),
    Case("columns", "'k' key, cast(null as string) value"),
    Case("columns", "'k' key"),
    Case("columns", "'k' key, 1 value"),
    Case("columns", "'k' key, 'v' VALUE"),
    Case("columns", "1 key, 'v' value"),
    Case("columns", f"{KEYED}, 5 other"),
    Case("columns", f"{KEYED}, 1 partition"),
    Case("columns", f"{KEYED}, cast(null as int) partition"),
    Case("columns", f"{KEYED}, '1' partition"),
    Case("columns", f"{KEYED}, 1L partition"),
    Case("columns", f"{KEYED}, 7 partition"),
    Case("columns", f"{KEYED}, -1 partition"),
    Case("columns", f"{KEYED}, {_HEADER} headers"),
    Case("columns", f"{KEYED}, array(struct('h' key, cast(null as binary) value)) headers"),
    Case("columns", f"{KEYED}, cast(null as array<struct<key: string, value: binary>>) headers"),
    Case("columns", f"{KEYED}, array(struct('h' key, 'x' value)) headers"),
    Case("columns", f"{KEYED}, 'h' headers"),
    Case("columns", f"{KEYED}, timestamp_millis({TIME_MS}) timestamp"),
    Case("columns", f"{KEYED}, cast(null as timestamp) timestamp"),
    Case("columns", f"{KEYED}, 'now' timestamp"),
    Case("topic column", f"{KEYED}, 'TOPIC' topic", has_topic=False),
    Case("topic column beside the option", f"{KEYED}, 'elsewhere' topic"),
    Case("null in the topic column", f"{KEYED}, cast(null as string) topic", has_topic=False),
    Case("null in the topic column beside the option", f"{KEYED}, cast(null as string) topic"),
    Case("topic column of a number", f"{KEYED}, 1 topic", has_topic=False),
    Case("no topic", KEYED, has_topic=False),
    Case("option", KEYED, {"topic": "a topic"}),
    Case("option", KEYED, {"topic": "__consumer_offsets"}),
    Case("option", f"{KEYED}, {_HEADER} headers", {"includeHeaders": "false"}),
    Case("option", f"{KEYED}, {_HEADER} headers", {"includeHeaders": "true"}),
    Case("option", KEYED, {"includeHeaders": "maybe"}),
    Case("option", KEYED, {"nonsense": "1"}),
    Case("option", KEYED, {"kafka.nonsense": "1"}),
    Case("option", KEYED, {"kafka.acks": "1"}),
    Case("option", KEYED, {"kafka.acks": "some"}),
    Case("option", KEYED, {"kafka.batch.size": "100"}),
    Case("option", KEYED, {"kafka.batch.size": "much"}),
    Case("option", KEYED, {"kafka.compression.type": "zstd"}),
    Case("option", KEYED, {"kafka.compression.type": "best"}),
    Case("option", KEYED, {"kafka.key.serializer": "x"}),
    Case("option", KEYED, {"kafka.value.serializer": "x"}),
    Case("save mode append", KEYED),
    Case("save mode overwrite", KEYED, mode="overwrite"),
    Case("save mode errorifexists", KEYED, mode="errorifexists"),
    Case("save mode ignore", KEYED, mode="ignore"),
    Case("output mode append", "value", is_stream=True),
    Case("output mode update", "value", mode="update", is_stream=True),
    Case("output mode complete", "value", mode="complete", is_stream=True),
]

# Where ours differs from theirs, and why.
DIFFERENCES: dict[str, str] = {
    f"columns `{KEYED}, timestamp_millis({TIME_MS}) timestamp`": "only our sink has this column",
    f"columns `{KEYED}, 'now' timestamp`": "only our sink has this column",
    "option `kafka.acks=some`": "there is no broker to wait for",
    "save mode errorifexists": "Spark does not allow it for data sources in Python",
    "output mode update": "Spark does not allow it for data sources in Python",
}
