"""Small recordings, for tests of data sets."""

import numpy as np

from envs.contract.fields import EnvSpec, FieldSpec, with_env_info
from envs.recorded.description import Description
from envs.recorded.recording import RecordingWriter

FIELDS = {
    "obs": FieldSpec("observation", (2,), low=(-1.0, float("-inf")), high=(1.0, float("inf"))),
    "state": FieldSpec("observation", (3,), group=None),
    "avail_actions": FieldSpec("mask", (4,), "uint8", of="actions"),
    "actions": FieldSpec("action", (), "int64", n=4),
    "reward": FieldSpec("outcome", group=None),
}


def description(env="game", agents=2, **env_args):
    spec = with_env_info(EnvSpec(FIELDS, {"agents": agents}, 5, declared=True))
    return Description(spec, {"log_prob": FieldSpec("record")}, env, env_args)


def steps(lengths, agents=2, seed=0):
    """Episodes with so many steps and a closing state, each with rewards of 1; the odd ones are truncated."""
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.arange(len(lengths)), np.array(lengths) + 1)
    count, last = len(episode), np.cumsum(np.array(lengths) + 1) - 2
    ends = {end: np.zeros((count, 1), np.uint8) for end in ("terminated", "truncated")}
    ends["terminated"][last[::2]], ends["truncated"][last[1::2]] = 1, 1
    return {
        "obs": rng.normal(size=(count, agents, 2)).astype(np.float32),
        "state": rng.normal(size=(count, 3)).astype(np.float32),
        "avail_actions": np.ones((count, agents, 4), np.uint8),
        "actions": rng.integers(4, size=(count, agents, 1)).astype(np.uint8),
        "reward": np.ones((count, 1), np.float32),
        "log_prob": rng.normal(size=(count, agents, 1)).astype(np.float32),
        **ends,
        "episode": episode,
    }


def written(folder, *parts, **changes):
    writer = RecordingWriter(folder, description(**changes))
    for part in parts:
        writer.add(part)
    return writer
