"""Suites: many runs by one command. Which runs, who has which, and how they are started."""
