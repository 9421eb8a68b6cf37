"""Simulators in a process of their own that share memory with a trainer: the protocols of ML-Agents DOTS."""
