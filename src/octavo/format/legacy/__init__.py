"""Messages of v0 and v1, and conversions between the formats."""
