"""The events of plays: random requests that actors build from the earlier answers of each broker."""
