"""Games of OpenSpiel (package open_spiel)."""
