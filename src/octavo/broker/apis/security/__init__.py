"""Logins, users and ACLs."""
