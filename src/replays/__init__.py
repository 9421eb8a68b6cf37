"""Replays: recorded episodes as JSON lines, read, written and drawn without torch. docs/replays.md has the format."""
