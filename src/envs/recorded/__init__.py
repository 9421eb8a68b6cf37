"""Data sets: what environments showed and agents did, in files that are learned from without the environment."""
