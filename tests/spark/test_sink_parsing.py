"""Invalid options of the sink are refused at once, before anything is created."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (pip install octavo[spark])")

from octavo.errors import ConfigError
from octavo.spark.sink.parsing import parse_options


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("partitions", "999999999999", 'partitions: For input string: "999999999999"'),
        ("partitions", "2147483647", "partitions is 2147483647, expected at most 1000000"),
        ("partitions", "0", "partitions must be positive"),
        ("lockTimeout", "-1s", "lockTimeout is -1s, expected 0s or more"),
    ],
)
def test_a_wrong_value_is_refused(option: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_options({"path": "logs", "topic": "orders", option: value})
