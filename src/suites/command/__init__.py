"""The command line of suites."""
