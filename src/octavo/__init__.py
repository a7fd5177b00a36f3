"""Apache Kafka's log as a library: log directories read, written and explained byte for byte."""
