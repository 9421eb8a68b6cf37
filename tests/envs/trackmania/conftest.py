"""Stand-ins for TrackMania, and environments that play on them."""

import json
import sys

import numpy as np
import pytest

from envs.trackmania.environment import TrackManiaEnv
from trackmania_game.car import Car
from trackmania_game.examples import PATHS, SERVER, free_port, straight_line
from trackmania_game.faults import Faults
from trackmania_game.server import StandIn


@pytest.fixture(scope="session", autouse=True)
def loaded_car(tmp_path_factory):
    """The simulator is compiled and loaded: games that do it first would seem to hang."""
    path = tmp_path_factory.mktemp("line") / "line.npy"
    np.save(path, straight_line())
    Car(path).tick(0, 0, 1, 0)


@pytest.fixture
def line_file(tmp_path):
    path = tmp_path / "straight.npy"
    np.save(path, straight_line())
    return str(path)


@pytest.fixture
def stand_in(line_file):
    """Makes stand-ins with these maps and faults, and closes them."""
    made = []

    def make(maps=("A",), port=0, **faults):
        made.append(StandIn(dict.fromkeys(maps, line_file), port, Faults(**faults)))
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


@pytest.fixture
def launcher(tmp_path, line_file):
    """The command of a launcher that starts the stand-in and ends, as a script of Wine may."""

    def make(stays=False, **faults):
        port = free_port()
        game = [sys.executable, str(SERVER)]
        arguments = [json.dumps({"A": line_file}), json.dumps(faults)]
        script = tmp_path / "launch.py"
        script.write_text(
            "import os, subprocess, sys\n"
            f"os.environ['PYTHONPATH'] = {PATHS!r}\n"
            f"game = subprocess.Popen([*{game!r}, sys.argv[1], *{arguments!r}], start_new_session=True)\n"
            f"open({str(tmp_path / 'pids')!r}, 'a').write(f'{{game.pid}}\\n')\n" + ("game.wait()\n" if stays else "")
        )
        return {"launch": f"{sys.executable} {script} {{port}}", "port": port, "launch_timeout": 30.0}

    return make
