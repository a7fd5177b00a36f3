"""The events of plays: random requests that actors make from what each broker has answered them."""
