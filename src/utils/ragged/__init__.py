"""Ragged arrays: sequences of unequal lengths."""
