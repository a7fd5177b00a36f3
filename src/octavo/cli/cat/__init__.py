"""`octavo cat`: the records of topics."""
