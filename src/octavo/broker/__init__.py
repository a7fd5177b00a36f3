"""The network front: lets Kafka's own clients use log directories, over Kafka's wire protocol."""
