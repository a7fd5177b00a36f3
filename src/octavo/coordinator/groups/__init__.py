"""Consumer groups: their members, which member reads which partition, and the committed offsets."""
