"""The course of a batch: the fields by which programs branch, which are read in main memory."""

from collections.abc import Mapping

from utils.tensors.schemes import placing_fields

# where steps are, episodes begin and end, and agents are there
COURSE = ("filled", "terminated", "truncated", "starts", "begins", "present", "agents/terminated", "agents/truncated")


def course_keys(scheme: Mapping[str, dict]) -> tuple[str, ...]:
    """Those that a batch of this scheme has, with the fields by which networks of entities lay out their tokens."""
    return (*(key for key in COURSE if key in scheme), *placing_fields(scheme))
