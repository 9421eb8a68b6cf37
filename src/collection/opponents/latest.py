"""Play without past models."""

from typing import Any


def latest(*parts: Any) -> None:
    """No opponents are chosen: the newest models play all groups."""
