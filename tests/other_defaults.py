"""The configs whose default is not Kafka's; docs/configuration.md says why."""

from __future__ import annotations

OTHER_DEFAULTS = {"socket.send.buffer.bytes"}
