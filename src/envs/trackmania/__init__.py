"""TrackMania Nations / United Forever, played through TMInterface: docs/trackmania_game.md."""
