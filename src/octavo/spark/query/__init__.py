"""What a query asks for: options, checked before a file is looked at."""
