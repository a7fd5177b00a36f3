"""The network front: Kafka's own clients talk to log directories, over Kafka's wire protocol."""
