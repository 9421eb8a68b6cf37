"""Simulators in another process that share memory with the trainer: the trainer's side of ML-Agents DOTS."""
