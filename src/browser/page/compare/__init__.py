"""The views Compare and Matrix."""
