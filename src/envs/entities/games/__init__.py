"""The examples of entity-gym."""
