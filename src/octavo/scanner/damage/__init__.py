"""Reading on after damage: the next sound batch, and what was skipped."""
