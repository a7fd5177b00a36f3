"""One partition as its files show it: where it begins and ends, its indexes, its transactions."""
