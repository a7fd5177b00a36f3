"""Reading on as files grow, with the offsets of a group."""
