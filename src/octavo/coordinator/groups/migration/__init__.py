"""Between the two kinds of groups: classic members in consumer groups, and groups that change their kind."""
