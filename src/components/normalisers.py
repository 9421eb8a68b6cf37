"""The path of `RunningNorm` and others in users' learners (docs/own_learner.md)."""

from utils.numbers.running_statistics import ReturnScale, RunningNorm, Standardiser  # noqa: F401
