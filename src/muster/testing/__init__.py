"""What authors of learners, mixers, agents and controllers need to test them, with pytest or without.

from muster.testing import check_learner

def test_my_learner():
    check_learner(MyLearner, mixer="qmix")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.testing.checks import check_agent, check_learner
    from muster.testing.made import SIZES, empty_batch, fill, make_args, random_batch
    from muster.testing.recording_logger import RecordingLogger

__all__ = [
    "SIZES",
    "RecordingLogger",
    "check_agent",
    "check_learner",
    "empty_batch",
    "fill",
    "make_args",
    "random_batch",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'muster.testing' has no attribute '{name}'")
    if name == "RecordingLogger":
        from muster.testing.recording_logger import RecordingLogger

        return RecordingLogger
    # with torch
    from muster.testing import checks, made

    return getattr(checks if name.startswith("check_") else made, name)
