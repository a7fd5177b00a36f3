"""Regular expressions in RE2's syntax, which choose topics by their names.

Python's `re` has another syntax, and some expressions make it run forever, so a client could stop the coordinator. Here
an expression becomes a finite automaton whose time is limited by its size and the name's length. All it can tell is
whether a topic's name matches as a whole, and so its alphabet is the characters of topic names.
"""
