"""Groups of the consumer protocol (KIP-848), as pure state machines."""
