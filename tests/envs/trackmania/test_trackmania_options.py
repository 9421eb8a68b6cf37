"""Arguments of the environment that make no sense."""

from contextlib import nullcontext

import pytest

from checks.environments import checked_env_args
from cli.compose import compose_config
from envs.trackmania.environment import TrackManiaEnv
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"map_cycle": []}, "map_cycle has no map"),
        ({"map_cycle": ["A"]}, r"map_cycle\[0\] is A; it must have map"),
        ({"map_cycle": [{"map": "A"}]}, r"map_cycle\[0\].line is None"),
        ({"map_cycle": [{"map": 'A" ; quit', "line": "x"}]}, "no quotes"),
        ({"map_cycle": [{"map": "A\n", "line": "x"}]}, r"\[0\].map is"),
        ({"map_cycle": [{"map": "A", "line": "x", "maps": 1}]}, "Did you mean 'map'"),
        ({"map_cycle": [{"map": "A", "line": "none.npy"}]}, "none.npy cannot be read"),
        ({"launch": "run.sh"}, r"must have \{port\} in it"),
        ({"user": "me; quit"}, "name of an account"),
        ({"step_ms": 55}, "multiple of 10"),
        ({"port": 80}, "from 1024"),
        ({"view": "pictures"}, "Did you mean 'picture'"),
        ({"speeds": 2}, "Did you mean 'speed'"),
        ({"port": 65_535, "place": (0, 1, 1)}, "the last game's would be 65536"),
        (
            {"test_map_cycle": [{"map": "B", "line": "none.npy"}]},
            r"^env_args\.test_map_cycle: the line none\.npy cannot",
        ),
    ],
)
def test_bad_arguments_are_refused(line_file, env_args, message):
    with pytest.raises(ConfigError, match=message):
        TrackManiaEnv.check_args(**{"map_cycle": [{"map": "A", "line": line_file}], **env_args})


def test_two_maps_of_one_name_are_refused(line_file):
    cycle = [{"map": "x/A.Challenge.Gbx", "line": line_file}, {"map": "y/A.Gbx", "line": line_file}]
    with pytest.raises(ConfigError, match="two maps are called A"):
        TrackManiaEnv.check_args(map_cycle=cycle)
    with pytest.raises(ConfigError, match="map_cycle has another map called A"):
        TrackManiaEnv.check_args(map_cycle=cycle[:1], test_map_cycle=cycle[1:])


@pytest.mark.parametrize(("vector_env", "refused"), [("workers", True), ("in_process", False)])
def test_a_process_may_wait_as_long_as_its_game_may_take(line_file, vector_env, refused):
    config = compose_config("iql", "trackmania").config
    config["env_args"] |= {"map_cycle": [{"map": "A", "line": line_file}]}
    checked_env_args({**config, "worker_timeout": 301})
    config |= {"worker_timeout": 300, "vector_env": vector_env}
    outcome = pytest.raises(ConfigError, match=r"worker_timeout=300 must be longer than env_args\.launch_timeout=300")
    with outcome if refused else nullcontext():
        checked_env_args(config)
