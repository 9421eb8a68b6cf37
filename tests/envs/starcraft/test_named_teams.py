"""EPyMARL's names of SMACv2's tasks."""

import pytest

from envs.starcraft.named_teams import NAMES, with_named_teams
from small_training import small_config
from utils.config.merging import CONFIG_DIR
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml


def test_there_are_epymarls_eighteen_names():
    sizes = ("5_vs_5", "10_vs_10", "10_vs_11", "20_vs_20", "20_vs_23")
    races = ("protoss", "terran", "zerg")
    assert {*NAMES} == {f"{race}_{size}" for race in races for size in sizes} | {f"sc2_gen_{race}" for race in races}


@pytest.mark.parametrize("race", ["protoss", "terran", "zerg"])
def test_a_name_is_the_published_scenario(race):
    """Those of config/envs/sc2_v2_<race>.yaml, in whatever order the units are."""
    published = load_yaml(CONFIG_DIR / "envs" / f"sc2_v2_{race}.yaml")["env_args"]
    named = with_named_teams({"map_name": f"{race}_5_vs_5", "time_limit": 150, "seed": 3})
    assert named.pop("seed") == 3 and "time_limit" not in named
    for one in (named, published):
        team = one["capability_config"]["team_gen"]
        team["unit_types"] = dict(zip(team["unit_types"], team.pop("weights"), strict=True))
    assert named == {key: published[key] for key in named}
    assert with_named_teams({"map_name": f"sc2_gen_{race}"}) == with_named_teams({"map_name": f"{race}_5_vs_5"})


def test_what_is_given_beside_a_name_wins():
    named = with_named_teams({"map_name": "zerg_10_vs_11", "conic_fov": True, "capability_config": {"n_units": 7}})
    assert named["conic_fov"] is True and named["map_name"] == "10gen_zerg"
    teams = named["capability_config"]
    assert (teams["n_units"], teams["n_enemies"], teams["team_gen"]["observe"]) == (7, 11, True)
    assert with_named_teams({"map_name": "zerg_10_vs_11"})["capability_config"]["n_units"] == 10


def test_other_maps_are_left_as_they_are_and_a_missing_one_is_refused():
    assert with_named_teams({"map_name": "10gen_zerg", "seed": 1}) == {"map_name": "10gen_zerg", "seed": 1}
    with pytest.raises(ConfigError, match=r"env_args.map_name is missing. Allowed: protoss_10_vs_10, "):
        with_named_teams({"map_name": None})


def test_the_file_sc2v2_is_epymarls(tmp_path):
    config = small_config(tmp_path, "qmix", "sc2v2", env_args={"map_name": "zerg_5_vs_5", "time_limit": 150})
    assert (config["env"], config["test_nepisode"], config["env_args"]["time_limit"]) == ("sc2_v2", 100, 150)
