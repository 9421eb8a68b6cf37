"""Level-based foraging (Christianos et al. 2020; Papoudakis et al. 2021), compiled."""
