"""Loops over buffers: compiled where a compiler was found, else their plain-Python twin."""
