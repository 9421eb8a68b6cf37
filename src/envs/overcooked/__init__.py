"""Overcooked (Carroll et al. 2019), compiled: two cooks in a kitchen; docs/overcooked.md."""
