"""The network front end: lets Kafka's own clients use log directories, over Kafka's wire protocol."""
