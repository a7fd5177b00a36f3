"""Classic groups as a state machine: members join, their leader assigns, everybody syncs."""
