"""Groups, their offsets and transactions: what Kafka's coordinators know, kept in Kafka's own topics.

This layer is below the clients: it knows members, sessions and ids, but no producers or consumers, so that the network
broker can use it too.
"""
