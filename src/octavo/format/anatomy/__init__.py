"""The anatomy of log bytes: each part with its position, name, value and meaning, nested down to a record's varints."""

from octavo.format.anatomy.batch import describe_batch, describe_incomplete
from octavo.format.anatomy.node import Node, Value

__all__ = ["Node", "Value", "describe_batch", "describe_incomplete"]
