"""The view of all runs."""
