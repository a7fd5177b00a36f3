"""Consumer groups: who is a member, who reads what, what was committed."""
