"""The anatomy of log bytes: each part with its position, name, value and meaning, down to the varints of a record."""

from octavo.format.anatomy.batch import describe_batch, describe_incomplete
from octavo.format.anatomy.node import Node, NodeValue

__all__ = ["Node", "NodeValue", "describe_batch", "describe_incomplete"]
