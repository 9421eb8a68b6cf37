"""Configs: options and registries, merging, and the files and modules that users name."""
