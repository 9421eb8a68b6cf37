"""The view of replays."""
