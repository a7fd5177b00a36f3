"""Groups, their offsets and transactions: what Kafka's coordinators know, kept in Kafka's own topics.

A layer below the clients: it knows members, sessions and ids, no producers or consumers, so that a network broker can
call it beside them. Each door says which of Kafka's requests it answers.
"""
