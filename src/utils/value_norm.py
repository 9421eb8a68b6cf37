"""PyMARL2's path of `ValueNorm`."""

from utils.numbers.running_statistics import ValueNorm  # noqa: F401
