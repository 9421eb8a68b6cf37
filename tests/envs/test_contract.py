"""Every registered environment keeps its declaration, its seed and its state, under either of the two contracts.

A new entry is covered without a new test.
"""

import copy
import inspect
import json

import numpy as np
import pytest

from checkpoints.tree import load_tree, save_tree
from envs import REGISTRY
from envs.contract.declarations import spec_of
from envs.contract.saving import state_or_none
from envs.families import is_there
from replays.drawing import draw
from replays.plain import plain
from standins import ROOT
from vector_envs.environment_row import row_of
from vector_envs.instances import constructor_of
from vector_envs.step_arrays import StepArrays

# arguments that show more than the defaults do
VARIANTS = {
    "matrix": [{"game": "penalty", "episode_limit": 4}, {"payoff": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}],
    "lbf": [
        {"key": "Foraging-5x5-2p-1f-v3"},
        {"key": "Foraging-8x8-3p-3f-v3", "time_limit": 60},
        {"key": "Foraging-2s-5x5-3p-1f-coop-v3", "time_limit": 9},
        {"reward": "each", "time_limit": 9},
    ],
    "skirmish": [
        {"map_name": "3m"},
        {"map_name": "MMM", "obs_last_action": True, "obs_pathing_grid": True, "continuing_episode": True},
        {"map_name": "2s3z", "obs_instead_of_state": True, "obs_timestep_number": True},
        {"map_name": "10gen_terran", "conic_fov": True, "prob_obs_enemy": 0.5, "num_fov_actions": 6},
        {"map_name": "10gen_terran", "use_unit_ranges": True, "conic_fov": True, "prob_obs_enemy": 0.5},
    ],
    "pettingzoo": [
        {"key": "mpe2.simple_spread_v3"},
        {"key": "mpe2.simple_tag_v3"},
        {"key": "mpe2.simple_speaker_listener_v4", "reward": "mean", "time_limit": 40},
        {"key": "mpe2.simple_tag_v3", "groups": "auto"},
        {"key": "mpe2.simple_adversary_v3", "groups": "auto", "reward": "each", "time_limit": 7},
        {"key": "mpe2.simple_spread_v3", "kwargs": {"continuous_actions": True}},
        {"key": "mpe2.simple_speaker_listener_v4", "groups": "auto", "kwargs": {"continuous_actions": True}},
    ],
    "particles": [
        {"time_limit": 7},
        {"scenario": "simple_world_comm", "reward": "each"},
        {"scenario": "simple_reference", "continuous_actions": True},
    ],
    "gymma": [
        {"key": "pz-mpe-simple-tag-v3"},
        {"key": "pz-mpe-simple-spread-v3", "time_limit": 7, "compiled": False},
    ],
    "gymnasium": [
        {},
        {"observe": [0, 2], "time_limit": 9},
        {"key": "Pendulum-v1", "time_limit": 30},
        {"key": "MountainCar-v0"},
        {"key": "MountainCarContinuous-v0", "time_limit": 30},
        {"key": "Acrobot-v1", "time_limit": 30},
        {"key": "Blackjack-v1", "time_limit": 10},
        {"key": "FrozenLake-v1"},
        {"key": "CliffWalking-v1", "time_limit": 30},
        {"key": "Taxi-v4", "time_limit": 30, "kwargs": {"is_rainy": True}},
        {"key": "gym_tasks:Kinds-v0"},
    ],
    "rware": [
        {"time_limit": 30},
        {"key": "rware-2s-small-4h-3ag-easy-v2", "reward": "each", "max_inactivity_steps": 20},
        {"key": "rware-1x3-3h-9ag-5req-twostage-v2", "msg_bits": 1, "time_limit": 9},
    ],
    "racing": [
        {"metres": 60.0, "map_cycle": ["seeds:1-50"], "map_order": "random"},
        {"metres": 60.0, "view": "both", "n_cars": 2, "reward": "each", "start_anywhere": 1.0},
        {"metres": 60.0, "view": "picture", "time_limit": 9, "start_anywhere": 1.0, "walls": False},
    ],
    "entities": [
        {"kwargs": {"step_limit": 12}},
        {"kwargs": {"orbital_cannon": True, "cooldown_period": 1, "step_limit": 20}, "max_entities": 7},
    ],
    "dots": [
        {"executable": str(ROOT / "simulators" / f"{name}.py"), "args": ["--seed", "{seed}"], "time_limit": 9}
        for name in ("wall_jump", "soccer")
    ],
}
MISSING = ("sc2", "trackmania", "smaclite", "jax", "recorded", *(() if is_there("pyspiel") else ("openspiel",)))
NAMES = [name for name in REGISTRY if not name.startswith(MISSING)]
CASES = [
    pytest.param(name, args, id=f"{name} {args.get('key', args.get('map_name', ''))} {k}")
    for name in NAMES
    for k, args in enumerate(VARIANTS.get(name, [{}]))
]
PYMARL = [
    case
    for case in CASES
    if case.values[0] in ("two_step", "matrix", "lbf", "skirmish", "pettingzoo", "mpe")
    and not {"groups", "kwargs"} & case.values[1].keys()
    and case.values[1].get("reward") != "each"
]
# every seed starts them alike
SAME_STARTS = (
    "FrozenLake",
    "CliffWalking",
    "two_step",
    "matrix",
    "skirmish 3m",
    "skirmish MMM",
    "skirmish 2s3z",
    "overcooked",
)
MPE = """simple simple_adversary simple_crypto simple_formation simple_line simple_push simple_reference
simple_speaker_listener simple_spread simple_tag simple_world_comm collect_treasure""".split()
VERSIONS = {"simple_speaker_listener": 4, "simple_formation": 1, "simple_line": 1, "collect_treasure": 1}
PARTICLES = [
    pytest.param("mpe", {"key": f"mpe2.{name}_v{VERSIONS.get(name, 3)}", "time_limit": 7}, id=name) for name in MPE
]


class Row:
    """One environment in an array of one row, as every source has it; wrong values are refused."""

    def __init__(self, name, args, seed=3):
        self.env = REGISTRY[name](**args, seed=seed)
        self.spec = spec_of(self.env)
        self.arrays = StepArrays.allocate(self.spec, 1)
        self.row = row_of(self.arrays, 0)

    def seen(self):
        return {path: array[0].copy() for path, array in self.arrays.shown.items()}

    def reset(self):
        self.env.reset()
        self.row.write_reset(self.env)
        return self.seen()

    def resume(self):
        self.row.write_seen(self.env)

    def step(self, rng):
        """A random legal step, with continuous actions also beyond their bounds."""
        masks = {field.of: path for path, field in self.spec.fields.items() if field.of}
        for path, field in self.spec.of_kind("action").items():
            target = self.arrays[path][0]
            if path in masks:
                target[...] = [rng.choice(np.flatnonzero(legal)) for legal in self.arrays[masks[path]][0]]
            else:
                target[...] = rng.integers(field.n, size=target.shape) if field.n else rng.normal(0, 3, target.shape)
        outcome = self.row.step(self.env)
        values = {path: array[0].copy() for path, array in self.arrays.outcomes.items()}
        return values, bool(self.arrays.terminated[0]), bool(self.arrays.truncated[0]), outcome.info


def play(row, rng, steps, ended=True):
    course = []
    for _ in range(steps):
        if ended:
            row.reset()
        before = row.seen()
        outcome = row.step(rng)
        ended = outcome[1] or outcome[2]
        course.append((before, row.seen(), outcome, ended))
    return course


def _bounded(array, field):
    size = array.shape[-len(field.shape) :] if field.shape else ()
    low, high = (
        np.broadcast_to(np.reshape(other if bound is None else bound, size if np.ndim(bound) else ()), size)
        for bound, other in ((field.low, -np.inf), (field.high, np.inf))
    )
    return (array >= low - 1e-6).all() and (array <= high + 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "args"), CASES)
def test_values_ends_and_bounds(name, args):
    row, steps = Row(name, args), 0
    for _, seen, (values, terminated, truncated, info), ended in play(row, np.random.default_rng(0), 120):
        steps += 1
        for path, array in (seen | values).items():
            assert np.isfinite(array).all(), path
            field = row.spec.fields[path]
            assert field.kind != "observation" or _bounded(array, field), path
        assert not (terminated and truncated)
        assert isinstance(info, dict)
        assert steps < row.spec.episode_limit or (ended and steps == row.spec.episode_limit)
        steps *= not ended
    row.env.close()


@pytest.mark.parametrize(("name", "args"), PYMARL)
def test_pymarls_methods_agree(name, args):
    env = REGISTRY[name](**args, seed=3)
    info = env.get_env_info()
    sizes = ("state_shape", "obs_shape", "n_actions", "n_agents", "episode_limit")
    assert all(type(info[size]) is int for size in sizes)
    env.reset()
    assert np.array_equal(env.get_obs_agent(0), env.get_obs()[0])
    assert np.array_equal(env.get_avail_agent_actions(0), env.get_avail_actions()[0])
    reward, ended, _ = env.step([np.flatnonzero(legal)[0] for legal in np.array(env.get_avail_actions())])
    assert (type(reward), type(ended)) == (float, bool)
    assert isinstance(env.get_stats(), dict)
    names = env.action_names()
    assert [len(set(own)) for own in names] == [info["n_actions"]] * info["n_agents"]
    if name != "skirmish":
        with pytest.raises(NotImplementedError, match="cannot save replays"):
            env.save_replay()
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "args"), CASES)
def test_equal_seeds_give_equal_worlds_and_others_do_not(name, args, request):
    first, second, other = (play(Row(name, args, seed), np.random.default_rng(1), 60) for seed in (3, 3, 4))
    np.testing.assert_equal(first, second)
    if not any(key in request.node.callspec.id for key in SAME_STARTS):
        with pytest.raises(AssertionError):
            np.testing.assert_equal(first, other)
        row = Row(name, args)
        start = row.reset()
        if name in ("lbf", "pettingzoo", "skirmish"):  # later episodes start otherwise
            with pytest.raises(AssertionError):
                np.testing.assert_equal(row.reset(), start)
        row.env.seed(4)
        np.testing.assert_equal(row.reset(), other[0][0])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 38])
@pytest.mark.parametrize(("name", "args"), [*CASES, *PARTICLES])
def test_a_saved_state_continues_bit_for_bit(tmp_path, name, args, steps):
    row, other = Row(name, args), Row(name, args, seed=99)
    ended = play(row, np.random.default_rng(1), steps)[-1][3] if steps else True
    while state_or_none(row.env) is None:  # it can be saved between episodes only
        outcome = row.step(np.random.default_rng(1))
        ended = outcome[1] or outcome[2]
    play(other, np.random.default_rng(2), 7)
    save_tree(copy.deepcopy(row.env.state_dict()), tmp_path / "state")
    other.env.load_state_dict(load_tree(tmp_path / "state"))
    if not ended:
        other.resume()
    expected, seen = (play(one, np.random.default_rng(5), 50, ended) for one in (row, other))
    np.testing.assert_equal(seen, expected)
    if not row.spec.declared:
        assert other.env.get_stats() == row.env.get_stats()


def _picture(env):
    snapshot = plain(env.snapshot())  # of which not all have one
    scene = plain(env.scene())
    assert json.loads(json.dumps([scene, snapshot], allow_nan=False)) == [scene, snapshot]
    ids = [unit["id"] for unit in snapshot["units"]]
    assert len(set(ids)) == len(ids)
    assert all({unit[link_end] for unit in snapshot.get("links", [])} <= set(ids) for link_end in ("from", "to"))
    return draw(scene, snapshot, 12, scene["bounds"]).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "args"), CASES)
def test_snapshots_can_be_written_and_drawn_and_change_nothing(name, args):
    """An environment whose snapshots are taken plays on as another one does."""
    row, other, ended, pictures = Row(name, args), Row(name, args), True, set()
    for t in range(12):
        if ended:
            np.testing.assert_equal(row.reset(), other.reset())
        try:
            pictures.add(_picture(row.env))
        except NotImplementedError as error:
            assert "has no snapshots" in str(error)
            return
        outcome, expected = (one.step(np.random.default_rng(t)) for one in (row, other))
        np.testing.assert_equal(outcome, expected)
        ended = outcome[1] or outcome[2]
        pictures.add(_picture(row.env))
    assert len(pictures) > 1, "something moves"
    row.env.close()


@pytest.mark.parametrize("name", [name for name in REGISTRY if not name.startswith("sc2")])
def test_every_environment_can_be_seeded(name):
    assert "seed" in inspect.signature(constructor_of(REGISTRY[name])).parameters


def test_environments_that_are_not_known_cannot_be_saved():
    env = REGISTRY["pettingzoo"](key="envs.skirmish.pettingzoo", seed=1)
    with pytest.raises(NotImplementedError, match="cannot be saved"):
        env.state_dict()
