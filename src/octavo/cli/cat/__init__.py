"""`octavo cat`: prints or exports the records of topics."""
