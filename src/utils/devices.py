"""Where a run's parts compute."""

from types import SimpleNamespace


def acting_device(args: SimpleNamespace) -> str:
    """Device of the networks that act, and of what they see: `acting_device`, or the learner's if that is auto."""
    return args.device if args.acting_device == "auto" else args.acting_device
