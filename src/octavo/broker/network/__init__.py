"""Sockets: listening, reading frames, sending answers."""
