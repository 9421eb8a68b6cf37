"""The multi-robot warehouse RWARE (Papoudakis et al. 2021), compiled: docs/rware.md."""
