"""What log directories say about their cluster: topics, configs, transactions and groups, from the files alone."""
