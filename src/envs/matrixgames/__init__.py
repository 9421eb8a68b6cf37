"""The matrix games of EPyMARL (Papoudakis et al. 2021), compiled: docs/matrix_games.md."""
