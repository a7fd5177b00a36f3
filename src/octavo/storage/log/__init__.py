"""One partition's log: its state, and the rules by which it is read, rolled, retained and truncated."""
