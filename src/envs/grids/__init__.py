"""PyMARLzoo+'s small grids (AILabDsUnipi), compiled: PressurePlate, Capture Target, Box Pushing; docs/grids.md."""
