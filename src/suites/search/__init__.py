"""Suites that search for hyperparameters."""
