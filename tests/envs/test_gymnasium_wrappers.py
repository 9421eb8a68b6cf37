"""Wrappers of Gymnasium's environments, by their names in a list."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from envs.gymnasium.environment import GymnasiumEnv  # noqa: E402
from utils.errors import ConfigError  # noqa: E402

STACK = {"FrameStackObservation": {"stack_size": 3}}


class Doubled(gymnasium.RewardWrapper):
    """A wrapper of the user's."""

    def __init__(self, env, factor=2.0):
        super().__init__(env)
        self.factor = factor

    def reward(self, reward):
        return self.factor * reward


def test_the_last_one_is_outermost():
    env = GymnasiumEnv("CartPole-v1", wrappers=["FlattenObservation", STACK], seed=1)
    env.reset()
    first = env.observe()["obs"][0]
    assert env.fields()["obs"].shape == (3, 4) == first.shape
    env.step({"actions": np.array([1])})
    after = env.observe()["obs"][0]
    np.testing.assert_array_equal(after[:2], first[1:])
    assert (after[2] != first[2]).any()
    # flat: three observations of four numbers
    assert GymnasiumEnv("CartPole-v1", wrappers=[STACK, "FlattenObservation"]).fields()["obs"].shape == (12,)


def test_a_wrapper_of_ones_own_gets_its_arguments():
    env = GymnasiumEnv("CartPole-v1", wrappers=[{f"{__name__}:Doubled": {"factor": 5.0}}], seed=1)
    env.reset()
    assert env.step({"actions": np.array([1])})[0]["reward"] == 5.0


def test_lists_are_the_tuples_that_yaml_lacks():
    wrappers = [{"ReshapeObservation": {"shape": [2, 2]}}]
    assert GymnasiumEnv("CartPole-v1", wrappers=wrappers).fields()["obs"].shape == (2, 2)


@pytest.mark.parametrize(
    ("wrappers", "message"),
    [
        ("FrameStackObservation", "it must be a list of wrappers"),
        ([3], "3 is neither a name nor a mapping"),
        ([{"ClipReward": 1}], "neither a name nor a mapping"),
        ([{"ClipReward": {}, "FlattenObservation": {}}], "neither a name nor a mapping"),
        (["FrameStackObservations"], "gymnasium has no wrapper 'FrameStackObservations'. Did you mean"),
        (["nowhere_to_be_found:Doubled"], "No module named 'nowhere_to_be_found', neither installed nor in /"),
        (["gymnasium:Doubled"], "the module has no class 'Doubled'"),
        ([{"FrameStackObservation": {"stacksize": 3}}], "takes no 'stacksize'. Did you mean 'stack_size'"),
        (["FrameStackObservation"], "does not go round this environment: TypeError"),
        (["GrayscaleObservation"], "does not go round this environment"),
    ],
)
def test_wrappers_that_are_refused(wrappers, message):
    with pytest.raises(ConfigError, match=message):
        GymnasiumEnv.check_args(key="CartPole-v1", wrappers=wrappers)
