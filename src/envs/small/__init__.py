"""Environments of one file: matrix games, the two-step game, level-based foraging."""
