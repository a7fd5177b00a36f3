"""What a log directory says about its cluster: topics, configs, transactions and groups, from its files alone."""
