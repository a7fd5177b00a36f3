"""The events of plays: random requests of actors, made from what each broker has told them."""
