"""Racing: cars on a track with walls, a reference line and zones along it; many races at once."""
