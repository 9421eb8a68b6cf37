"""Skirmish: a simulator of StarCraft-style battles with SMAC's contract, many battles at once."""
