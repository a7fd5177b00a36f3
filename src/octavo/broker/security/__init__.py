"""Who may connect, and who may do what: listeners, TLS, SASL, ACLs."""
