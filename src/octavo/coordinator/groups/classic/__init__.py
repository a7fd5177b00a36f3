"""Classic groups as a state machine without side effects: members join, their leader assigns, everybody syncs."""
