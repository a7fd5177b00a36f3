"""`octavo verify`: checks everything; `report` shows the findings, `next_steps` says what to run next."""
