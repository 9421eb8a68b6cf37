"""Environments of entities that are refused before a run: for their arguments, or for what they say of themselves."""

import pytest

from envs.entities.adapter import EntityEnv
from utils.errors import ConfigError, MusterError
from walking import FAILING, Odd, Walk


@pytest.mark.parametrize(
    ("env_args", "message"),
    [
        ({"environment": "MineSweper"}, "no game 'MineSweper'. Did you mean 'MineSweeper'"),
        ({"environment": 3}, "env_args.environment is 3"),
        ({"environment": "walking:Wolk"}, "no class 'Wolk'. Did you mean 'Walk'"),
        ({"environment": "walking:EntityEnv"}, "no subclass of entity_gym.env.Environment"),
        (
            {"environment": "no_such_module:Walk"},
            "importing 'no_such_module' failed: No module named 'no_such_module', neither installed nor in /",
        ),
        ({"environment": "no_such_file.py:Walk"}, "there is no file"),
        ({"environment": "walking:"}, "expected path/to/file.py:ClassName"),
        ({"kwargs": {"widht": 3}}, r"env_args.kwargs: MineSweeper takes no 'widht'. Did you mean 'width'"),
        ({"kwargs": {"width": 0}}, "width=0 must be a whole number"),
        ({"kwargs": {"width": "x"}}, "width=x must be a whole number"),
        ({"kwargs": [3]}, "env_args.kwargs is .*mapping"),
        ({"environment": "walking:Walk", "kwargs": {"walkers": "x"}, "max_entities": 1, "max_actors": 1}, None),
        ({"episode_limit": -1}, "env_args.episode_limit is -1"),
        ({"episode_limit": 1.5}, "env_args.episode_limit is 1.5"),
        ({"max_entities": 0}, "env_args.max_entities is 0"),
        ({"max_entities": {"Mine": "many"}}, "env_args.max_entities.Mine is many"),
        ({"max_entities": {"Mien": 2}}, "env_args.max_entities: there is no entity type 'Mien'. Did you mean 'Mine'"),
        ({"max_actors": {"Mvoe": 2}}, "env_args.max_actors: .*'Mvoe'. Did you mean 'Move'"),
        ({"max_actors": 2**20}, "env_args.max_actors is 1048576"),
    ],
)
def test_bad_arguments_are_refused_before_a_run(env_args, message):
    if message is None:  # the constructor takes it; its first step would not
        EntityEnv.check_args(**env_args)
        return
    with pytest.raises(ConfigError, match=message):
        EntityEnv.check_args(**env_args)


@pytest.mark.parametrize("said", [{"Walker": 0}, {"Wolf": 2}, {"Walker": "2"}])
def test_a_wrong_declaration_of_sizes_is_refused(monkeypatch, said):
    monkeypatch.setattr(Odd, "said", said)
    with pytest.raises(ConfigError, match=r"capacity\(\) says"):
        EntityEnv("walking:Odd")


@pytest.mark.parametrize(
    ("name", "instead", "message"),
    [
        ("capacity", lambda self: ["Walker"], r"capacity\(\) says \['Walker'\]: expected a dict"),
        ("max_actors", lambda self: 3, r"max_actors\(\) says 3: expected a dict"),
        ("obs_space", FAILING["obs_space"], "Walk, asked for its spaces: ZeroDivisionError.* line [0-9]+, in <lambda>"),
        ("act", FAILING["act"], "Walk, in 200 steps of random play: ZeroDivisionError.*, in <lambda>"),
        ("seed", lambda self: None, r"Walk, seed\([0-9]+\): TypeError"),
        ("episode_limit", "10", "Walk.episode_limit is 10: expected a whole number"),
        ("episode_limit", -1, "Walk.episode_limit is -1"),
    ],
)
def test_what_an_environment_does_before_a_run_is_said_with_its_name(monkeypatch, name, instead, message):
    monkeypatch.setattr(Walk, name, instead)
    with pytest.raises(ConfigError, match=message):
        EntityEnv.check_args(environment="walking:Walk")


def test_invalid_spaces_are_refused():
    with pytest.raises(MusterError, match=r"'a/b'.*'/'"):
        EntityEnv("walking:Broken")
