"""Transactional ids: who may use one, and how its transactions end; and the ids of all producers."""
