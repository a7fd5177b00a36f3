"""Kafka's own schema definitions: the JSON files in its jars, read into this project's schema values."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from octavo.format.messages.schema import (
    BOOL,
    FLOAT64,
    NATURAL,
    NO_VERSIONS,
    PRIMITIVES,
    STRING,
    Array,
    Field,
    MessageSchema,
    Primitive,
    Struct,
    Type,
    Versions,
)

FOLDERS = {
    "kafka-clients": ("common/message/", "org.apache.kafka.common.message"),
    "kafka-group-coordinator": ("common/message/", "org.apache.kafka.coordinator.group.generated"),
    "kafka-transaction-coordinator": ("common/message/", "org.apache.kafka.coordinator.transaction.generated"),
    "kafka-share-coordinator": ("common/message/", "org.apache.kafka.coordinator.share.generated"),
    "kafka-metadata": ("common/metadata/", "org.apache.kafka.common.metadata"),
    "kafka-raft": ("common/message/", "org.apache.kafka.raft.generated"),
}


class Definition(NamedTuple):
    """One definition: where it is from, its api key or record type, its kind, the schema and the generated class."""

    jar: str
    api_key: int | None
    kind: str
    message: MessageSchema
    java_class: str


def definitions(jars: list[Path]) -> Iterator[Definition]:
    """All definitions that have a version, from the jars that `FOLDERS` names."""
    for jar in jars:
        name = re.sub(r"-[0-9.]+\.jar$", "", jar.name)
        if name in FOLDERS:
            yield from _definitions_of(name, jar)


def _definitions_of(name: str, jar: Path) -> Iterator[Definition]:
    folder, package = FOLDERS[name]
    with zipfile.ZipFile(jar) as archive:
        for member in sorted(archive.namelist()):
            if member.startswith(folder) and member.endswith(".json"):
                content = _without_comments(archive.read(member).decode())
                if content["validVersions"] != "none":
                    suffix = "Data" if content["type"] in ("request", "response", "header") else ""
                    java_class = f"{package}.{content['name']}{suffix}"
                    yield Definition(name, content.get("apiKey"), content["type"], _message(content), java_class)


def _without_comments(text: str) -> dict[str, Any]:
    lines = [re.sub(r'(^|[,\[{}\]\s])//[^"]*$', r"\1", line) for line in text.splitlines()]
    content: dict[str, Any] = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    return content


def _message(content: dict[str, Any]) -> MessageSchema:
    structs: dict[str, Struct] = {}
    pending = {common["name"]: common["fields"] for common in content.get("commonStructs", [])}
    fields = _fields(content["fields"], structs, pending)
    versions, flexible = (Versions.parse(content[key]) for key in ("validVersions", "flexibleVersions"))
    return MessageSchema(content["name"], versions, flexible, fields)


def _fields(entries: list[dict[str, Any]], structs: dict[str, Struct], pending: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(_field(entry, structs, pending) for entry in entries)


def _field(entry: dict[str, Any], structs: dict[str, Struct], pending: dict[str, Any]) -> Field:
    kind = _type(entry, structs, pending)
    tagged = Versions.parse(entry["taggedVersions"]) if "taggedVersions" in entry else NO_VERSIONS
    return Field(
        entry["name"][0].lower() + entry["name"][1:],
        kind,
        Versions.parse(entry["versions"]) if "versions" in entry else tagged,
        nullable=Versions.parse(entry.get("nullableVersions", "none")),
        tag=entry.get("tag"),
        tagged=tagged,
        flexible=Versions.parse(entry["flexibleVersions"]) if "flexibleVersions" in entry else None,
        ignorable=bool(entry.get("ignorable", False)),
        # Kafka's generator reads a null without quotes as no default at all.
        declared_default=NATURAL if entry.get("default") is None else _default(kind, entry["default"]),
    )


def _type(entry: dict[str, Any], structs: dict[str, Struct], pending: dict[str, Any]) -> Type:
    name = entry["type"].removeprefix("[]")
    element: Primitive | Struct
    if name in PRIMITIVES:
        element = PRIMITIVES[name]
    else:
        if name not in structs:
            structs[name] = Struct(name, _fields(entry.get("fields") or pending[name], structs, pending))
        element = structs[name]
    return Array(element) if entry["type"].startswith("[]") else element


def _default(kind: Type, default: Any) -> bool | int | float | str | None:
    if default == "null":
        return None
    if kind is BOOL:
        return str(default).lower() == "true"
    if kind is STRING:
        return str(default)
    if kind is FLOAT64:
        return float(default)
    return int(str(default), 0)
