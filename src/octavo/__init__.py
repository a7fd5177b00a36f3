"""Apache Kafka's log as a library: log directories read, written and explained byte for byte.

The public names are listed here and imported when first used, so that a bare `import octavo` loads none of the
heavy dependencies.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError("octavo runs on Linux and macOS; Windows is not supported")

if TYPE_CHECKING:
    from octavo.broker.broker import Broker
    from octavo.client.log_dir import LogDir
    from octavo.errors import (
        ConfigError,
        CorruptionError,
        CorruptRecordError,
        DecompressionLimitError,
        EncodingError,
        InvalidRecordError,
        KafkaError,
        LogDirError,
        OctavoError,
        ScanError,
        UnsupportedCompressionTypeError,
    )
    from octavo.scanner.api import scan

__version__ = "0.1.0"

__all__ = [
    "Broker",
    "ConfigError",
    "CorruptRecordError",
    "CorruptionError",
    "DecompressionLimitError",
    "EncodingError",
    "InvalidRecordError",
    "KafkaError",
    "LogDir",
    "LogDirError",
    "OctavoError",
    "ScanError",
    "UnsupportedCompressionTypeError",
    "__version__",
    "scan",
]

_HOMES = {
    "Broker": "octavo.broker.broker",
    "ConfigError": "octavo.errors",
    "CorruptRecordError": "octavo.errors",
    "CorruptionError": "octavo.errors",
    "DecompressionLimitError": "octavo.errors",
    "EncodingError": "octavo.errors",
    "InvalidRecordError": "octavo.errors",
    "KafkaError": "octavo.errors",
    "LogDir": "octavo.client.log_dir",
    "LogDirError": "octavo.errors",
    "OctavoError": "octavo.errors",
    "ScanError": "octavo.errors",
    "UnsupportedCompressionTypeError": "octavo.errors",
    "scan": "octavo.scanner.api",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
