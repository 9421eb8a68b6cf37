"""Policies: distributions of actions of any kind, from the outputs of a network."""
