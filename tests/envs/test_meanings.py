"""What environments say of their observations and actions: every number once, and the right entity for each action."""

import numpy as np
import pytest

from envs import REGISTRY
from envs.contract.declarations import spec_of
from envs.multiagentenv import MultiAgentEnv
from envs.particles.state import SCENARIOS
from envs.skirmish.meaning import of_smac
from replays.offered import offered
from utils.config.merging import CONFIG_DIR
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.meanings import Meaning, choices

VECTORS = {
    "skirmish": [{"map_name": name} for name in ("3m", "2s3z", "MMM", "27m_vs_30m")]
    + [load_yaml(CONFIG_DIR / "envs" / "skirmish_v2_terran.yaml")["env_args"]],
    "lbf": [
        {"compiled": True, **more}
        for more in ({"players": 3}, {"observe_agent_levels": False}, {"grid_observation": True, "sight": 2})
    ],
    "rware": [{"key": "rware-tiny-2ag-v2"}, {"key": "rware-tiny-2ag-v2", "msg_bits": 2}],
    "particles": [
        *({"scenario": name} for name in SCENARIOS),
        {"scenario": "simple_spread", "num_agent_neighbors": 1, "num_landmark_neighbors": 2},
    ],
}


def meaning_of(name, **env_args):
    env = REGISTRY[name](**{**env_args, "seed": 1})
    try:
        env.reset()
        return env, spec_of(env).env_info["meaning"]
    finally:
        env.close()


@pytest.mark.parametrize(("name", "env_args"), [(name, args) for name, each in VECTORS.items() for args in each])
def test_every_number_of_an_observation_belongs_to_one_group(name, env_args):
    env, meaning = meaning_of(name, **env_args)
    spec = spec_of(env)
    observations = np.asarray(env.observe()["obs"] if spec.declared else env.get_obs())
    for agent, seen in enumerate(observations):
        columns = [column for group in meaning.seen_by(agent) for row in group.columns for column in row]
        assert len(columns) == len(set(columns))
        rest = sorted(set(range(len(seen))) - set(columns))
        # agents that see less than others have zeros behind
        assert not rest or (name == "particles" and rest[0] == len(columns) and not np.any(seen[rest])), rest
    if meaning.actions:
        assert len(meaning.actions) == spec.env_info["n_actions"]


def test_pictures_name_actions_by_the_units_that_are_their_targets():
    env, _ = meaning_of("skirmish", map_name="MMM", observation="entities")
    names = env.action_names()
    assert names[0][5:8] == ["move west", "attack e0", "attack e1"] and len(names) == 10
    # ten enemies, then the others by their numbers, then the agent itself
    assert names[9][16:] == [f"heal {k}" for k in range(10)]
    assert names[4][16:] == [f"heal {k}" for k in (0, 1, 2, 3, 5, 6, 7, 8, 9, 4)]


def test_an_environment_that_names_no_actions_has_the_names_of_its_meaning():
    class Declared:
        n_agents = 2

        def meaning(self):
            return Meaning((), choices(["wait", "load"]))

    class AsPyMARLs(Declared, MultiAgentEnv):
        def get_total_actions(self):
            return 2

    for env in (Declared(), AsPyMARLs()):
        assert offered(env, "action_names") == [["wait", "load"]] * 2
    Declared.meaning = lambda self: None
    assert offered(Declared(), "action_names") is None
    assert offered(AsPyMARLs(), "action_names") == [["0", "1"]] * 2


def test_enemies_are_the_targets_of_attacks():
    env, meaning = meaning_of("skirmish", map_name="3m")
    assert len(meaning.untargeted) == 6 and meaning.targeting("enemy") == [6, 7, 8]
    enemy, names = meaning.group("enemy"), env.get_obs_feature_names()
    for row in range(enemy.rows):
        assert names[enemy.columns[row][enemy.features.index("distance")]] == f"enemy_distance_{row}"
    assert (meaning.rows("ally"), meaning.rows("own")) == (2, 1)
    with pytest.raises(ConfigError, match=r"no group 'enemi'\. Did you mean 'enemy'"):
        meaning.group("enemi")


def test_medivacs_heal():
    meaning = meaning_of("skirmish", map_name="MMM")[1]
    assert meaning.actions[6].of_healers == ("agent", 0) and meaning.actions[6].target == ("enemy", 0)
    by_units = meaning_of("skirmish", map_name="MMM", observation="entities")[1]
    allies = by_units.rows("ally")
    assert len(by_units.targeting("ally", "own")) == allies + 1
    assert by_units.group("enemy").field == "obs/enemies"


def test_the_same_for_smac():
    """Skirmish's environment has SMAC's attributes, by which the package's is known."""
    env, meaning = meaning_of("skirmish", map_name="2s3z")
    s = env.batch.simulator.scenario

    class Smac:
        n_agents, n_enemies, n_actions = env.n_agents, env.n_enemies, env.n_actions
        obs_all_health, obs_own_health, obs_last_action = s.obs_all_health, s.obs_own_health, s.obs_last_action
        obs_pathing_grid, obs_terrain_height = s.obs_pathing_grid, s.obs_terrain_height
        obs_timestep_number, map_type, unit_type_bits = s.obs_timestep_number, "stalkers_and_zealots", s.type_bits
        shield_bits_ally = shield_bits_enemy = 1

    assert of_smac(Smac) == meaning


def test_entities_are_known_by_type():
    meaning = meaning_of("entities", environment="MineSweeper", episode_limit=5)[1]
    assert {group.field for group in meaning.groups} >= {f"entities/{group.kind}" for group in meaning.groups[:1]}
    assert all(group.features and group.rows for group in meaning.groups)


def test_food_is_where_foragers_see_it():
    _, meaning = meaning_of("lbf", compiled=True, players=2, field_size=8, max_num_food=3)
    food, own = meaning.group("food"), meaning.group("own")
    assert (food.rows, food.features, own.columns) == (3, ("row", "column", "level"), ((9, 10, 11),))
    assert [action.name for action in meaning.actions][-1] == "load"
