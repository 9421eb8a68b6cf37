"""Random episodes in PyMARL's layout, and buffers for them."""

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec

N, A, T = 2, 5, 6
SIZES = {"n_agents": N, "n_actions": A, "obs_shape": 3, "state_shape": 4}
# of a step, as PyMARL stores it
LAYOUT = {
    "obs": ((N, 3), np.float32),
    "state": ((4,), np.float32),
    "actions": ((N, 1), np.int64),
    "actions_onehot": ((N, A), np.float32),
    "avail_actions": ((N, A), np.int32),
    "reward": ((1,), np.float32),
    "terminated": ((1,), np.uint8),
    "truncated": ((1,), np.uint8),
    "filled": ((1,), np.int64),
}


def parts(buffer_dtype, sizes=SIZES):
    scheme, groups, preprocess = scheme_of(pymarl_spec(sizes), buffer_dtype)
    return {**scheme, "number": {"vshape": (1,), "dtype": th.long, "episode_const": True}}, groups, preprocess


def make_buffer(size, buffer_dtype="float32", device="cpu"):
    scheme, groups, preprocess = parts(buffer_dtype)
    return ReplayBuffer(scheme, groups, size, T, preprocess=preprocess, device=device)


def make_episode(number, steps, acts_at_the_end):
    """An episode of `steps` filled steps in PyMARL's layout; without an action, its closing step has no one-hot."""
    rng = np.random.default_rng(number)
    fields = {key: np.zeros((T, *shape), dtype=dtype) for key, (shape, dtype) in LAYOUT.items()}
    for key in ("obs", "state", "reward"):
        fields[key][:steps] = rng.normal(scale=10, size=fields[key][:steps].shape)
    fields["avail_actions"][:steps] = rng.integers(2, size=(steps, N, A))
    fields["terminated"][:steps] = rng.integers(2, size=(steps, 1))
    fields["truncated"][:steps] = rng.integers(2, size=(steps, 1))
    fields["filled"][:steps] = 1
    for t in range(steps if acts_at_the_end else steps - 1):
        for agent in range(N):
            action = int(rng.integers(A))
            fields["actions"][t, agent, 0] = action
            fields["actions_onehot"][t, agent, action] = 1
    return fields


def as_batch(episodes, length):
    """A runner's batch of `length` steps that holds {number: episode}."""
    scheme, groups, preprocess = parts("float32")
    batch = EpisodeBatch(scheme, groups, len(episodes), length, preprocess=preprocess)
    for row, (number, fields) in enumerate(episodes.items()):
        batch["number"][row] = number
        for key, values in fields.items():
            batch[key][row] = th.as_tensor(values[:length])
    return batch


def assert_holds(batch, numbers, model, length, half):
    """`batch` holds these episodes of `model`, cut to `length`, in the types of PyMARL's layout."""
    assert set(batch.scheme) == {*LAYOUT, "number"}
    for key, (shape, dtype) in LAYOUT.items():
        found = batch[key].numpy()
        assert found.dtype == dtype, key
        assert found.shape == (len(numbers), length, *shape), key
        expected = np.stack([model[number][key][:length] for number in numbers])
        if half and key in ("obs", "state"):
            # 11 significant bits, and below the smallest normal number, multiples of 2**-24
            assert (np.abs(found - expected) <= 2.0**-11 * np.abs(expected) + 2.0**-25).all(), key
        else:
            np.testing.assert_array_equal(found, expected, err_msg=key)
