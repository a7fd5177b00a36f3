"""Kafka's own conversion classes in a separate process: one JSON request per line in, one answer per line out.

A process can hold one JVM with one set of jars. The clients of 3.9.2 are the last with down-conversion, while
`LogValidator` and the cleaner should be those of 4.3.1; `Kafka(version)` starts a process with the jars of
that version.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.jars import kafka_jars

ROOT = Path(__file__).parents[2]
CODECS = "NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"
NEVER = 2**63 - 1  # message.timestamp.before.max.ms, message.timestamp.after.max.ms
RECORDED = [
    "recordInvalidMagic",
    "recordInvalidOffset",
    "recordInvalidSequence",
    "recordInvalidChecksums",
    "recordNoKeyCompactedTopic",
]


class Kafka:
    """The asking side."""

    def __init__(self, version: str) -> None:
        command = [sys.executable, "-m", __name__, *map(str, kafka_jars(version))]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        greeting = self._read()
        if "ready" not in greeting:
            pytest.skip(f"Kafka's classes cannot be loaded: {greeting['error']}")

    def __enter__(self) -> Kafka:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, operation: str, **request: Any) -> bytes | str:
        """The bytes that Kafka makes, or the name of the exception that it throws."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"operation": operation, **request}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        return bytes.fromhex(answer["data"]) if "data" in answer else answer["error"]

    def build(self, **request: Any) -> bytes:
        """What Kafka's builder makes of the request's records."""
        built = self.ask("build", **request)
        assert isinstance(built, bytes), built
        return built

    def _read(self) -> dict[str, str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, str] = json.loads(line or '{"error": "the process ended"}')
        return answer


class Classes:
    """The answering side; needs a running JVM."""

    def __init__(self, version_4: bool) -> None:
        import jpype

        self.jpype: Any = jpype
        self.record = jpype.JPackage("org.apache.kafka.common.record")
        self.common = jpype.JPackage("org.apache.kafka.common")
        self.internal = self.record.internal if version_4 else self.record

    def build(self, request: dict[str, Any]) -> bytes:
        """What Kafka's builder makes of the request's records."""
        buffer = self.jpype.JClass("java.nio.ByteBuffer").allocate(1 << 16)
        log_append_time = request.get("log_append_time")
        builder = self.internal.MemoryRecordsBuilder(
            self.common.utils.ByteBufferOutputStream(buffer),
            self.jpype.JByte(request["magic"]),
            self.compression(request["codec"]),
            self.timestamp_type(request.get("log_append_time")),
            self.jpype.JLong(request["records"][0][0]),
            self.jpype.JLong(-1 if log_append_time is None else log_append_time),
            self.jpype.JLong(request.get("producer_id", -1)),
            self.jpype.JShort(request.get("producer_epoch", -1)),
            self.jpype.JInt(request.get("base_sequence", -1)),
            request.get("is_transactional", False),
            request.get("is_control", False),
            self.jpype.JInt(request.get("partition_leader_epoch", -1)),
            self.jpype.JInt(1 << 30),
        )
        for offset, timestamp, key, value, headers in request["records"]:
            simple = self.simple_record(timestamp, key, value, headers)
            if request.get("is_control"):
                builder.appendControlRecordWithOffset(self.jpype.JLong(offset), simple)
            else:
                builder.appendWithOffset(self.jpype.JLong(offset), simple)
        return self.bytes_of(builder.build())

    def down_convert(self, request: dict[str, Any]) -> bytes:
        records = self.memory_records(request["data"])
        to_magic, first_offset = self.jpype.JByte(request["to_magic"]), self.jpype.JLong(request["first_offset"])
        return self.bytes_of(records.downConvert(to_magic, first_offset, self.common.utils.Time.SYSTEM).records())

    def append(self, request: dict[str, Any]) -> bytes:
        """What a leader's log validator makes of a produced set."""
        log = self.jpype.JPackage("org.apache.kafka.storage.internals.log")
        now = request["log_append_time"]
        validator = log.LogValidator(
            self.memory_records(request["data"]),
            self.common.TopicPartition("topic", 0),
            self.clock(now),
            self.internal.CompressionType.valueOf(CODECS[request["source_codec"]]),
            self.compression(request["codec"]),
            False,
            self.jpype.JByte(request["to_magic"]),
            self.timestamp_type(now),
            self.jpype.JLong(NEVER),
            self.jpype.JLong(NEVER),
            self.jpype.JInt(request["partition_leader_epoch"]),
            log.AppendOrigin.CLIENT,
        )
        recorder = self.jpype.JProxy(log.LogValidator.MetricsRecorder, dict=dict.fromkeys(RECORDED, lambda: None))
        counter = self.jpype.JClass("org.apache.kafka.common.utils.PrimitiveRef").ofLong(request["first_offset"])
        buffers = self.common.utils.BufferSupplier.NO_CACHING
        return self.bytes_of(validator.validateMessagesAndAssignOffsets(counter, recorder, buffers).validatedRecords())

    def rewrite(self, request: dict[str, Any]) -> bytes:
        """What the cleaner makes of batches if it keeps all their records. (The method is private in MemoryRecords.)"""
        methods = self.internal.MemoryRecords.class_.getDeclaredMethods()
        method = next(method for method in methods if method.getName() == "buildRetainedRecordsInto")
        method.setAccessible(True)
        kept = b""
        for batch in self.memory_records(request["data"]).batches():
            records = self.jpype.JClass("java.util.ArrayList")()
            for record in batch:
                records.add(record)
            stream = self.common.utils.ByteBufferOutputStream(1 << 16)
            builder = method.invoke(None, batch, records, stream, self.jpype.java.lang.Long(-1))
            kept += self.bytes_of(builder.build())
        return kept

    def simple_record(self, timestamp: int, key: str | None, value: str | None, headers: list[list[str | None]]) -> Any:
        header = self.common.header.internals.RecordHeader
        array = self.common.header.Header[len(headers)]
        array[:] = [header(name, self.java(data)) for name, data in headers]
        return self.internal.SimpleRecord(self.jpype.JLong(timestamp), self.java(key), self.java(value), array)

    def java(self, data: str | None) -> Any:
        if data is None:
            return self.jpype.JObject(None, self.jpype.JByte[:])
        return self.jpype.JArray.of(bytes.fromhex(data), self.jpype.JByte)

    def memory_records(self, data: str) -> Any:
        buffer = self.jpype.JClass("java.nio.ByteBuffer").wrap(self.java(data))
        return self.internal.MemoryRecords.readableRecords(buffer)

    def bytes_of(self, records: Any) -> bytes:
        buffer = records.buffer()
        data = self.jpype.JArray.of(bytes(buffer.remaining()), self.jpype.JByte)
        buffer.get(data)
        return bytes(data)

    def compression(self, codec: int) -> Any:
        return self.common.compress.Compression.of(self.internal.CompressionType.valueOf(CODECS[codec])).build()

    def timestamp_type(self, log_append_time: int | None) -> Any:
        return getattr(self.record.TimestampType, "CREATE_TIME" if log_append_time is None else "LOG_APPEND_TIME")

    def clock(self, now: int | None) -> Any:
        return self.jpype.JProxy(
            self.common.utils.Time, dict={"milliseconds": lambda: now or 0, "nanoseconds": lambda: 0}
        )


def serve(jars: list[str]) -> None:
    try:
        import jpype

        jpype.startJVM("-Xmx256m", classpath=jars, convertStrings=True)
    except Exception as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    classes = Classes(any("kafka-clients-4" in jar for jar in jars))
    for line in sys.stdin:
        request = json.loads(line)
        operation: Callable[[dict[str, Any]], bytes] = getattr(classes, request["operation"])
        try:
            answer = {"data": operation(request).hex()}
        except jpype.JException as error:
            answer = {"error": str(error.getClass().getSimpleName())}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
