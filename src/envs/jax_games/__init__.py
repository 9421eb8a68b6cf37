"""Environments of several agents that are written in JAX: SMAX, MABrax, Jumanji's, files of one's own."""
