"""The view of cross-play matrices."""
