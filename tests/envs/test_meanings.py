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
        obs_instead_of_state = state_timestep_number = False
        state_last_action = True
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


def of_group(group, x):
    """Features `[..., rows]` by name, of what a field has, `[..., numbers]`."""
    return {name: x[..., [row[k] for row in group.columns]] for k, name in enumerate(group.features)}


def played(name, steps=0, **env_args):
    """An environment after some steps of random legal actions, what it shows then, and its meaning."""
    env, rng = REGISTRY[name](**{**env_args, "seed": 1}), np.random.default_rng(3)
    declared = spec_of(env).declared

    def shown():
        if declared:
            return env.observe()
        return {"obs": np.array(env.get_obs()), "state": env.get_state(), "avail_actions": env.get_avail_actions()}

    env.reset()
    for _ in range(steps):
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in shown()["avail_actions"]])
        env.step({"actions": actions} if declared else actions)
    return env, {key: np.asarray(x) for key, x in shown().items()}, spec_of(env).env_info["meaning"]


BATTLES = [
    {"map_name": "2s3z", "state_timestep_number": True},
    {"map_name": "2s3z", "observation": "entities", "state_last_action": False},
    {"map_name": ["2s3z", "8m"], "observation": "entities"},
    load_yaml(CONFIG_DIR / "envs" / "skirmish_v2_terran.yaml")["env_args"],
]


@pytest.mark.parametrize("env_args", BATTLES)
def test_the_state_of_a_battle_has_its_units(env_args):
    env, shown, meaning = played("skirmish", 30, **env_args)
    battles, state = env.batch.battles_of(0), shown["state"]
    columns = sorted(column for group in meaning.state for row in group.columns for column in row)
    assert columns == list(range(state.size))
    assert [(group.kind, group.there) for group in meaning.entities] == [("agent", "health"), ("enemy", "health")]
    units, n = battles.state.units[0], battles.n_agents
    assert (units["health"] == 0).any()
    for group, side in zip(meaning.entities, (units[:n], units[n:]), strict=True):
        found, alive = of_group(group, state), side["health"] > 0
        # a row without a unit: of the dead, or on a map with fewer
        alive = np.pad(alive, (0, group.rows - len(side)))
        assert np.array_equal(found["health"] > 0, alive)
        for feature, axis in (("rel_x", "x"), ("rel_y", "y")):
            places = np.pad((side[axis] - 16) / 32, (0, group.rows - len(side)))
            assert np.allclose(found[feature], places * alive, atol=1e-6)
    if "last_actions" in (kinds := {group.kind: group for group in meaning.state}):
        rows = kinds["last_actions"].columns
        took = [state[list(row)].argmax() for row in rows][:n]
        orders = units["last_action"][:n]
        assert [k for k, order in zip(took, orders, strict=True) if order >= 0] == [k for k in orders if k >= 0]


@pytest.mark.parametrize("env_args", BATTLES)
def test_agents_know_which_units_of_the_state_they_see(env_args):
    env, shown, meaning = played("skirmish", 25, **env_args)
    battles = env.batch.battles_of(0)
    here = [of_group(group, shown["state"]) for group in meaning.entities]
    x, y, health = (np.concatenate([one[name] for one in here]) for name in ("rel_x", "rel_y", "health"))
    met = {"ally": 0, "enemy": 0}
    for i in np.flatnonzero(battles.state.units[0, : battles.n_agents]["health"]):
        seen = {group.kind: group for group in meaning.seen_by(i)}
        assert meaning.in_state(seen["own"], i) == [i]
        assert "surroundings" not in seen or meaning.in_state(seen["surroundings"], i) is None
        for kind in ("ally", "enemy"):
            rows = np.array(meaning.in_state(seen[kind], i))
            found = of_group(seen[kind], shown[seen[kind].field][i].reshape(-1))
            there = found[seen[kind].there] > 0
            met[kind] += there.sum()
            assert not (there & (health[rows] == 0)).any() and i not in rows
            # in another unit of length, the same direction
            theirs = np.stack([found["relative_x"], found["relative_y"]])[:, there]
            ours = np.stack([x[rows] - x[i], y[rows] - y[i]])[:, there]
            assert np.allclose(theirs[0] * ours[1], theirs[1] * ours[0], atol=1e-6)
            assert np.array_equal(np.sign(theirs), np.sign(ours))
    assert all(met.values())


def test_nobody_knows_the_entities_of_a_state_that_is_all_observations():
    assert meaning_of("skirmish", map_name="3m", obs_instead_of_state=True)[1].state == ()
    assert meaning_of("lbf", compiled=True, players=2, sight=2)[1].state == ()
    assert meaning_of("particles", scenario="simple_tag")[1].state == ()


def test_the_state_of_a_particle_world_has_its_agents_and_landmarks():
    env, shown, meaning = played("particles", 5, scenario="simple_spread")
    world = env.batch.simulator.state
    agents, landmarks = (of_group(group, shown["state"]) for group in meaning.entities)
    assert [group.kind for group in meaning.entities] == ["agent", "landmark"]
    first = world.positions[0, 0]
    for k, axis in enumerate("xy"):
        assert np.allclose(agents[f"position_{axis}"], world.positions[0, :3, k], atol=1e-6)
        assert np.allclose(agents[f"velocity_{axis}"], world.velocities[0, :, k], atol=1e-6)
        assert np.allclose(landmarks[f"relative_{axis}"], world.positions[0, 3:, k] - first[k], atol=1e-6)
    everything = np.concatenate([agents["position_x"], landmarks["relative_x"] + first[0]])
    for i in range(3):
        for kind in ("landmark", "agent"):
            group = meaning.group(kind, i)
            seen = of_group(group, shown["obs"][i])["relative_x"]
            assert np.allclose(seen, everything[meaning.in_state(group, i)] - world.positions[0, i, 0], atol=1e-6)
    near = meaning_of("particles", scenario="simple_spread", num_agent_neighbors=1)[1]
    assert near.in_state(near.group("agent"), 0) is None and near.in_state(near.group("landmark"), 0) == [3, 4, 5]


def test_the_state_of_foragers_has_their_food():
    env, shown, meaning = played("lbf", 8, compiled=True, players=3, field_size=8, max_num_food=3)
    players, foods = env.batch.simulator.pieces(0)
    agents, food = (of_group(group, shown["state"]) for group in meaning.entities)
    assert np.array_equal(np.stack(list(agents.values()), 1), players)
    there = food[meaning.entities[1].there] > 0
    assert sorted(map(tuple, np.stack(list(food.values()), 1)[there])) == sorted(map(tuple, foods))
    for i in range(3):
        group = meaning.group("ally", i)
        seen = of_group(group, shown["obs"][i])
        assert np.array_equal(np.stack(list(seen.values()), 1), players[meaning.in_state(group, i)])
        assert meaning.in_state(meaning.group("food", i), i) == [3, 4, 5]
