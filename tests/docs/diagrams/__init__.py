"""The diagrams of docs/, drawn from the declared layouts and from logs that are really written."""
