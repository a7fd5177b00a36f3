"""Parses kafka-dump-log's flags by the rules of jopt-simple, the library that Kafka's tools use.

`-flag` is the same as `--flag`, and `--flag=value` as `--flag value`; a flag that takes no value ignores one after
`=`; words that are not flags are ignored, and so is everything after `--`. A value is checked when it is used:
a wrong `--max-bytes` does not matter for an index.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from octavo.errors import CorruptionError, OctavoError
from octavo.format.java.text import parse_integer
from octavo.kernels.integers import INT32_MAX

KAFKA_VERSION = "4.3.1"
STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"


class FlagValue(Enum):
    """Whether a flag has a value."""

    NONE = 0
    OPTIONAL = 1
    REQUIRED = 2


class Flag(NamedTuple):
    """One flag, and its line in the usage."""

    name: str
    meaning: str
    value: FlagValue = FlagValue.NONE
    default: str | None = None


FLAGS = {
    flag.name: flag
    for flag in (
        Flag("files", "REQUIRED: the files to dump, separated by commas.", FlagValue.REQUIRED),
        Flag("print-data-log", "Print keys and payloads; any decoder implies it."),
        Flag("deep-iteration", "Print one line per record; --print-data-log implies it."),
        Flag("skip-record-metadata", "Of records, print only keys and payloads: no offsets, sizes, control records."),
        Flag("max-bytes", "Read this many bytes of each .log file.", FlagValue.REQUIRED, str(INT32_MAX)),
        Flag(
            "max-message-size", "The largest batch that an .index entry may point to.", FlagValue.REQUIRED, str(5 << 20)
        ),
        Flag("verify-index-only", "Check indexes against the log without printing them."),
        Flag("index-sanity-check", "Run only the check that a broker runs on an index when it starts."),
        Flag("key-decoder-class", "The decoder of keys.", FlagValue.OPTIONAL, STRING_DECODER),
        Flag("value-decoder-class", "The decoder of payloads.", FlagValue.OPTIONAL, STRING_DECODER),
        Flag("offsets-decoder", "Decode the records of __consumer_offsets."),
        Flag("transaction-log-decoder", "Decode the records of __transaction_state."),
        Flag("cluster-metadata-decoder", "Decode the records of __cluster_metadata and its snapshots."),
        Flag("remote-log-metadata-decoder", "Decode the records of __remote_log_metadata."),
        Flag("share-group-state-decoder", "Decode the records of __share_group_state."),
        Flag("help", "Print this."),
        Flag("version", "Print the version of Kafka whose tool this is."),
    )
}
_TOPIC_DECODERS = [name for name in FLAGS if name.endswith("-decoder")]  # in the order in which Kafka looks for them


class Options:
    """The flags that were given, each with its values."""

    def __init__(self, arguments: list[str]) -> None:
        self._given: dict[str, list[str]] = {}
        waiting = list(reversed(arguments))
        while waiting:
            word = waiting.pop()
            if word == "--":
                return
            if _looks_like_a_flag(word):
                self._take(word, waiting)

    def _take(self, word: str, waiting: list[str]) -> None:
        name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
        flag = FLAGS.get(name)
        if flag is None:
            raise OctavoError(f"{name} is not a flag of dump-log; `octavo dump-log --help` lists them")
        values = self._given.setdefault(name, [])
        if flag.value is FlagValue.NONE:
            return
        if equals:
            values.append(value)
        elif flag.value is FlagValue.REQUIRED:
            if not waiting:
                raise OctavoError(f"--{name} needs a value")
            values.append(waiting.pop())
        elif waiting and not _looks_like_a_flag(waiting[-1]):
            values.append(waiting.pop())

    def has(self, name: str) -> bool:
        return name in self._given

    def value(self, name: str) -> str:
        """The flag's only value; its default if none was given."""
        values = self._given.get(name) or [FLAGS[name].default or ""]
        if len(values) > 1:
            raise OctavoError(f"--{name} has {len(values)} values ({', '.join(values)}), expected one")
        return values[0]

    def integer(self, name: str) -> int:
        try:
            return parse_integer(self.value(name), 32)
        except CorruptionError as error:
            raise OctavoError(f"--{name}: {error}") from error

    @property
    def files(self) -> list[str]:
        text = self.value("files")
        files = text.split(",")
        while text and files and not files[-1]:
            files.pop()
        return files

    @property
    def topic_decoder(self) -> str | None:
        return next(filter(self.has, _TOPIC_DECODERS), None)

    @property
    def print_data_log(self) -> bool:
        return any(map(self.has, ("print-data-log", "key-decoder-class", "value-decoder-class", *_TOPIC_DECODERS)))

    @property
    def deep_iteration(self) -> bool:
        return self.has("deep-iteration") or self.print_data_log


def usage() -> str:
    """The flags, one line each."""
    shown = {flag.name: f"--{flag.name}{_VALUES[flag.value]}" for flag in FLAGS.values()}
    width = max(map(len, shown.values()))
    lines = [f"{'Option':<{width}}  Description", f"{'------':<{width}}  -----------"]
    for name in sorted(FLAGS):
        default = f" (default: {FLAGS[name].default})" if FLAGS[name].default else ""
        lines.append(f"{shown[name]:<{width}}  {FLAGS[name].meaning}{default}")
    return "\n".join(lines)


_VALUES = {FlagValue.NONE: "", FlagValue.OPTIONAL: " [<value>]", FlagValue.REQUIRED: " <value>"}


def _looks_like_a_flag(word: str) -> bool:
    return word.startswith("-") and word != "-"
