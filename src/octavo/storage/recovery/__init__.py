"""Loading a log: what a crash left is finished, checked and cut."""
