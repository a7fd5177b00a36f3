"""The writing side: partition logs owned by a Python program, byte for byte like Kafka's."""
