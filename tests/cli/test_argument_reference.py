"""The arguments of environments: each is declared with its meaning, and help, lists and files have it."""

import inspect
import re

import pytest

from cli.env_arguments import OF_THE_RUN, arguments, commented
from cli.listing import listing
from cli.reference import option_help, reference
from envs import REGISTRY, about, batched_names
from utils.config.merging import CONFIG_DIR, config_names
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from vector_envs.instances import constructor_of

# of packages that need a game; their names are those of `REACHES`
ELSEWHERE = ("sc2", "sc2_v2")
OWN = [name for name in REGISTRY if name not in ELSEWHERE]


@pytest.mark.parametrize("env", OWN)
def test_every_argument_of_a_constructor_has_its_meaning(env):
    named = inspect.signature(constructor_of(REGISTRY[env])).parameters
    taken = {key for key, one in named.items() if one.kind is not one.VAR_KEYWORD} - {*OF_THE_RUN}
    said = about(env).arguments
    assert taken <= said.keys()
    assert said.keys() <= taken or any(one.kind is one.VAR_KEYWORD for one in named.values())
    assert all(said.values())


@pytest.mark.parametrize("name", config_names("envs"))
def test_every_argument_in_a_config_file_has_its_meaning(name):
    path = CONFIG_DIR / "envs" / f"{name}.yaml"
    config = load_yaml(path)
    assert config["env_args"].keys() <= about(config["env"]).arguments.keys()
    assert commented(path.read_text()) == path.read_text()


def test_comments_are_written_where_arguments_are():
    text = 'env: "racing"\nenv_args:\n  n_cars: 1 # old\n  own: 2 # mine\n  walls: True\nn_cars: 3 # other\n'
    said = about("racing").arguments
    assert commented(text) == (
        f'env: "racing"\nenv_args:\n  n_cars: 1 # {said["n_cars"]}\n  own: 2 # mine\n  walls: True # {said["walls"]}\n'
        "n_cars: 3 # other\n"
    )
    assert commented("env: nothing\nenv_args:\n  n_cars: 1 # old\n").endswith("# old\n")


def test_the_arguments_of_an_environment_are_listed():
    title, *lines = listing("env=racing").splitlines()
    assert title.startswith("env=racing: cars on tracks")
    assert len(lines) == len(about("racing").arguments)
    assert any(re.fullmatch(r"  n_cars=1 +cars in a race, 1 to 32", line) for line in lines)
    assert "compiled=True" in listing("env=lbf")  # the file's default, not the constructor's
    assert "window_size_x=" in listing("env=sc2")  # whether or not the package is there


def test_help_of_an_argument():
    page = option_help("env_args.n_cars")
    assert page.startswith("env_args.n_cars: cars in a race, 1 to 32\n")
    assert "values   a whole number\n" in page and "default  1\n" in page and "read by  env=racing\n" in page
    assert "or a schedule" in option_help("env_args.constant_reward_per_ms")
    assert "a whole number, or null" in option_help("env_args.players")
    limits = option_help("env_args.time_limit")
    assert "500 (rware, pressureplate, overcooked)" in limits and "env=racing, trackmania\n" in limits
    assert option_help("env_args.capability_config.n_units") == option_help("env_args.capability_config")
    with pytest.raises(ConfigError, match=r"Did you mean 'n_cars'.*--list env=NAME"):
        option_help("env_args.n_car")


def test_an_environment_of_a_user_has_its_constructor_s(monkeypatch):
    class Mine:
        """An environment of mine."""

        def __init__(self, side: int = 3, colour: str | None = None, **others):
            pass

    monkeypatch.setattr(REGISTRY, "_entries", dict(REGISTRY._entries))
    REGISTRY["mine"] = Mine
    assert [(one.name, one.word, one.values) for one in arguments("mine")] == [
        ("side", "3", "a whole number"),
        ("colour", "null", "text, or null"),
    ]
    assert "side=3" in listing("env=mine")
    assert "read by  env=mine\n" in option_help("env_args.side")
    REGISTRY["mine"] = type("Nothing", (), {})
    assert "takes no arguments" in listing("env=mine")


# whose state and pictures are there without a game, a simulator or a package
BUILT_IN = [name for name in REGISTRY if about(name).saved == about(name).drawn == "yes"]


@pytest.mark.slow  # compiled families compile once
@pytest.mark.parametrize("env", BUILT_IN)
def test_environments_save_and_draw_as_the_table_says(env):
    made = constructor_of(REGISTRY[env])(**load_yaml(CONFIG_DIR / "envs" / f"{env}.yaml")["env_args"] | {"seed": 1})
    made.reset()
    assert made.state_dict()
    assert made.snapshot()["units"]


def test_the_table_names_those_that_the_code_has():
    assert len(BUILT_IN) == 12
    table = reference().partition("\n## Environments\n")[2].partition("\n## ")[0]
    rows = {
        row[0]: row[2:]
        for row in (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `"))
    }
    assert rows["`racing`"] == ["yes", "yes", "yes"]
    assert rows["`lbf`"][0] == "for some arguments"
    assert {name.strip("`") for name, (batched, *_) in rows.items() if batched != "no"} == {*batched_names()}
