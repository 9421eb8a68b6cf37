"""Every registered environment that declares its fields keeps its declaration, its seed and its state."""

import copy
import json

import numpy as np
import pytest

from checkpoints.tree import load_tree, save_tree
from envs import REGISTRY
from envs.contract.declarations import spec_of
from envs.contract.saving import state_or_none
from replays.drawing import draw
from replays.plain import plain
from standins import ROOT
from vector_envs.declared_row import row_of
from vector_envs.step_arrays import StepArrays

pytestmark = pytest.mark.slow

VARIANTS = {
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
    "racing": [
        {"metres": 60.0, "map_cycle": ["seeds:1-50"], "map_order": "random"},
        {"metres": 60.0, "view": "both", "n_cars": 2, "reward": "each", "start_anywhere": 1.0},
        {"metres": 60.0, "view": "picture", "time_limit": 9, "start_anywhere": 1.0, "walls": False},
    ],
    "entities": [
        {"kwargs": {"step_limit": 12}},
        {"kwargs": {"orbital_cannon": True, "cooldown_period": 1, "step_limit": 20}, "max_entities": 7},
    ],
    "lbf": [{"reward": "each", "time_limit": 9}],
    "dots": [
        {"executable": str(ROOT / "simulators" / f"{name}.py"), "args": ["--seed", "{seed}"], "time_limit": 9}
        for name in ("wall_jump", "soccer")
    ],
    "pettingzoo": [
        {"key": "mpe2.simple_tag_v3", "groups": "auto"},
        {"key": "mpe2.simple_adversary_v3", "groups": "auto", "reward": "each", "time_limit": 7},
        {"key": "mpe2.simple_spread_v3", "kwargs": {"continuous_actions": True}},
        {"key": "mpe2.simple_speaker_listener_v4", "groups": "auto", "kwargs": {"continuous_actions": True}},
    ],
}
# those that always do; of others, the arguments with which they do
DECLARED = [
    name for name in REGISTRY if not name.startswith(("sc2", "trackmania")) and hasattr(REGISTRY[name], "fields")
]
CASES = [
    pytest.param(name, args, id=f"{name} {args.get('key', '')} {k}")
    for name in dict.fromkeys([*DECLARED, *VARIANTS])
    for k, args in enumerate(VARIANTS.get(name, [{}]))
]
SAME_STARTS = ("FrozenLake", "CliffWalking")


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


@pytest.mark.parametrize(("name", "args"), CASES)
def test_equal_seeds_give_equal_worlds_and_others_do_not(name, args):
    first, second, other = (play(Row(name, args, seed), np.random.default_rng(1), 60) for seed in (3, 3, 4))
    np.testing.assert_equal(first, second)
    if not any(key in args.get("key", "") for key in SAME_STARTS):
        with pytest.raises(AssertionError):
            np.testing.assert_equal(first, other)
        row = Row(name, args)
        row.reset()
        row.env.seed(4)
        row.reset()
        np.testing.assert_equal(row.seen(), other[0][0])


@pytest.mark.parametrize("steps", [0, 1, 38])
@pytest.mark.parametrize(("name", "args"), CASES)
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


@pytest.mark.parametrize(("name", "args"), CASES)
def test_snapshots_can_be_written_and_drawn_and_change_nothing(name, args):
    row, other = Row(name, args), Row(name, args)
    row.reset()
    other.reset()
    try:
        row.env.snapshot()
    except NotImplementedError as error:
        assert "has no snapshots" in str(error)
        return
    pictures = set()
    for t in range(8):
        scene, snapshot = plain(row.env.scene()), plain(row.env.snapshot())
        assert json.loads(json.dumps([scene, snapshot], allow_nan=False)) == [scene, snapshot]
        pictures.add(draw(scene, snapshot, 12, scene["bounds"]).tobytes())
        np.testing.assert_equal(row.step(np.random.default_rng(t)), other.step(np.random.default_rng(t)))
    assert len(pictures) > 1, "something moves"
