"""The view of suites."""
