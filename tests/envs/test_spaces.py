"""Gymnasium's spaces as words for fields, and fields as spaces."""

import numpy as np
import pytest

from envs.contract.fields import EnvSpec, FieldSpec
from envs.contract.spaces import actions, observations, space_of
from utils.errors import ConfigError

spaces = pytest.importorskip("gymnasium").spaces


def test_a_dictionary_of_observations_is_a_field_for_each():
    space = spaces.Dict(
        camera=spaces.Box(0, 255, (4, 4, 3), np.uint8),
        car=spaces.Dict(speed=spaces.Box(0, 9, (1,)), gear=spaces.Discrete(5, start=-1)),
        lamps=spaces.MultiBinary(6),
    )
    assert observations("obs", space) == {
        "obs/camera": FieldSpec("observation", (4, 4, 3), "uint8", low=0.0, high=255.0),
        "obs/car/gear": FieldSpec("observation", (), "int64", low=-1, high=3),
        "obs/car/speed": FieldSpec("observation", (1,), "float32", low=0.0, high=9.0),
        "obs/lamps": FieldSpec("observation", (6,), "int8"),
    }


def test_one_space_is_one_field():
    assert observations("red/obs", spaces.Box(-np.inf, np.inf, (3,)), "red") == {
        "red/obs": FieldSpec("observation", (3,), "float32", "red")
    }
    assert actions("actions", spaces.Discrete(4)) == {"actions": FieldSpec("action", (), "int64", n=4)}


def test_actions_are_branches_and_continuous_ones():
    space = spaces.Tuple((spaces.MultiDiscrete([3, 2]), spaces.Box(np.float32([-1, 0]), np.float32([1, 1]))))
    assert actions("red/act", space, "red") == {
        "red/act/0/0": FieldSpec("action", (), "int64", "red", n=3),
        "red/act/0/1": FieldSpec("action", (), "int64", "red", n=2),
        "red/act/1": FieldSpec("action", (2,), "float32", "red", low=(-1.0, 0.0), high=1.0),
    }
    assert list(actions("on", spaces.MultiBinary(3))) == ["on/0", "on/1", "on/2"]


def test_actions_keep_the_bounds_of_one_side():
    space = spaces.Box(np.float32([0, -np.inf, -1]), np.float32([np.inf, np.inf, 1]))
    assert actions("actions", space) == {
        "actions": FieldSpec("action", (3,), "float32", low=(0.0, -np.inf, -1.0), high=(np.inf, np.inf, 1.0))
    }
    above = actions("actions", spaces.Box(2, np.inf, (2,)))["actions"]
    assert (above.low, above.high) == (2.0, None)


@pytest.mark.parametrize(
    ("words", "space"), [(observations, spaces.Sequence(spaces.Box(0, 1))), (actions, spaces.Text(3))]
)
def test_spaces_without_a_fixed_shape_are_refused_by_name(words, space):
    with pytest.raises(ConfigError, match=f"'it/deep' is the space {type(space).__name__};"):
        words("it", spaces.Dict(deep=space))


@pytest.mark.parametrize(
    ("words", "space"),
    [
        (observations, spaces.Box(-1, 1, (2, 3))),
        (observations, spaces.Box(0, 255, (4, 4, 3), np.uint8)),
        (actions, spaces.Discrete(7)),
        (actions, spaces.Box(np.float32([-1, 0]), np.float32([1, 2]))),
        (actions, spaces.Box(np.float32([-np.inf, 0, -1]), np.float32([9, np.inf, 1]))),
        (actions, spaces.Box(0, np.inf, (2,))),
        (actions, spaces.Dict(aim=spaces.Box(-1, 1, (2,)), tool=spaces.Discrete(3))),
        (observations, spaces.Dict(a=spaces.Dict(b=spaces.Box(-np.inf, np.inf, (1,))))),
    ],
)
def test_there_and_back_is_the_same_space(words, space):
    assert space_of(words("it", space), "it") == space


def test_the_space_of_declared_fields():
    fields = {
        "obs/seen": FieldSpec("observation", (5,), capacity=3),
        "obs/awake": FieldSpec("observation", (2,), "bool"),
        "reward": FieldSpec("outcome", group=None),
    }
    spec = EnvSpec(fields, {"agents": 2}, 10, declared=True)
    space = space_of(spec.of_kind("observation"), "obs")
    assert space["seen"].shape == (3, 5)
    assert space["awake"] == spaces.MultiBinary((2,))
    with pytest.raises(KeyError, match="actions"):
        space_of(spec.fields, "actions")
