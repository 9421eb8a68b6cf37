"""The web application: serving it, and who may see it."""
