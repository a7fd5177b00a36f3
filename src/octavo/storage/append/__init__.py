"""An append: its batches checked, given their offsets and written."""
