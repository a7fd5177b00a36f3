"""Continues reading after damage: finds the next sound batch, and reports what was skipped."""
