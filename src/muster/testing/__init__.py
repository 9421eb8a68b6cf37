"""What authors of learners, mixers, agents and controllers need to test them, with pytest or without.

from muster.testing import check_learner

def test_my_learner():
    check_learner(MyLearner, mixer="qmix")
"""

from muster.testing.checks import check_agent, check_learner
from muster.testing.made import SIZES, RecordingLogger, empty_batch, fill, make_args, random_batch

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
