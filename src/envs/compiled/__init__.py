"""Environments that numba compiles: what their families share."""
