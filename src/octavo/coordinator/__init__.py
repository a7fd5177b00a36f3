"""Groups, their offsets and transactions: what Kafka's coordinators know, kept in Kafka's own topics.

This layer is below the clients and the broker, and both use it: it knows members, sessions and ids, but not the
clients' producers and consumers.
"""
