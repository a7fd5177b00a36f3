"""Transactional ids: who may use one, and how its transactions end; the ids of all producers."""
