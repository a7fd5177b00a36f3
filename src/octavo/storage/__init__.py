"""The writing side: partition logs that a Python program owns, byte for byte Kafka's."""
