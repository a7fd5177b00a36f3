"""Loading a log: what a crash left is completed, checked and cut."""
