"""The battle itself, as scalar code over one battle, compiled by numba."""
