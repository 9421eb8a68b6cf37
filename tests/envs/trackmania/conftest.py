"""Stand-ins for TrackMania, and environments that play on them."""

import numpy as np
import pytest

from envs.trackmania.environment import TrackManiaEnv
from trackmania_game.examples import straight_line
from trackmania_game.faults import Faults
from trackmania_game.server import StandIn


@pytest.fixture
def line_file(tmp_path):
    path = tmp_path / "straight.npy"
    np.save(path, straight_line())
    return str(path)


@pytest.fixture
def stand_in(line_file):
    """Makes stand-ins with these maps and faults, and closes them."""
    made = []

    def make(maps=("A",), **faults):
        made.append(StandIn(dict.fromkeys(maps, line_file), faults=Faults(**faults)))
        return made[-1]

    yield make
    for game in made:
        game.close()


@pytest.fixture
def make_env(line_file):
    """Makes environments on a stand-in, or with other arguments, and closes them."""
    made = []

    def make(game=None, maps=("A",), **env_args):
        own = {"map_cycle": [{"map": name, "line": line_file} for name in maps]}
        own |= {"game_timeout": 2.0, "launch_timeout": 5.0, "normalise": False, "frame_width": 32, "frame_height": 16}
        if game is not None:
            own["port"] = game.port
        made.append(TrackManiaEnv(**{**own, **env_args}))
        return made[-1]

    yield make
    for env in made:
        env.close()
