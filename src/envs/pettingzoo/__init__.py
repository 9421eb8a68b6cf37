"""Parallel environments of PettingZoo (Terry et al. 2021), MPE among them: as one team, or in groups with fields."""
