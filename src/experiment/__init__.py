"""One experiment, from its config to its end: assembled, played, learned from, tested, saved."""
