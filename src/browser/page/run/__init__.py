"""The view of one run."""
