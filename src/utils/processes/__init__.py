"""Processes: children, signals, shared memory, cores and memory of this machine."""
