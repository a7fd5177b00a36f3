"""Consumer groups: their members, who reads which partition, and the offsets that they committed."""
