from pathlib import Path

from muster.testing import check_learner
from utils.config.user_modules import imported

imported("plugins", str(Path(__file__).parent / "weighted_team.py"))  # registers the parts


def test_my_learner():
    check_learner("huber_learner", mixer="weighted_sum")
