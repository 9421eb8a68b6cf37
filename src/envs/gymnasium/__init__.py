"""Environments of Gymnasium (Towers et al. 2024), each as one group with one agent."""
