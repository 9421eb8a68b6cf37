"""Who has which run of a suite, where, and how it is started."""
