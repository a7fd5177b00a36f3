"""Classic groups as a machine without side effects: members join, their leader assigns, everybody syncs."""
