"""Groups, their offsets and transactions: what Kafka's coordinators know, kept in Kafka's own topics."""
