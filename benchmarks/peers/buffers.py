"""Microseconds of the buffers of stable-baselines3 and torchrl, in a Python that has them; `transitions.py` starts it.

python buffers.py <rounds>
"""

import json
import sys

import numpy as np
import torch as th
from buffer_cases import BATCH, CAPACITY, CASES, microseconds
from gymnasium import spaces

th.set_num_threads(1)
ROUNDS = int(sys.argv[1])


def frames(shape, dtype, number, rng):
    size = (number, *shape)
    return rng.integers(0, 255, size, "uint8") if dtype == "uint8" else rng.normal(size=size).astype("float32")


def sb3(shape, dtype, number, steps):
    from stable_baselines3.common.buffers import ReplayBuffer

    rng = np.random.default_rng(0)
    seen = spaces.Box(0, 255, shape, np.uint8) if dtype == "uint8" else spaces.Box(-9, 9, shape, np.float32)
    acted = spaces.Box(-1, 1, (6,), np.float32)
    capacity = 2000 if dtype == "uint8" else CAPACITY
    buffer = ReplayBuffer(capacity, seen, acted, "cpu", number, handle_timeout_termination=True)
    now, after = (frames(shape, dtype, number, rng) for _ in range(2))
    actions = rng.normal(size=(number, 6)).astype("float32")
    rewards, done, infos = np.zeros(number), np.zeros(number), [{} for _ in range(number)]
    # it takes one step at a time
    yield "insert", microseconds(lambda: buffer.add(now, after, actions, rewards, done, infos), ROUNDS * 4)
    for _ in range(capacity // number):
        buffer.add(now, after, actions, rewards, done, infos)
    yield "sample", microseconds(lambda: buffer.sample(BATCH), ROUNDS)


def torchrl(shape, dtype, number, steps):
    from tensordict import TensorDict
    from torchrl.data import LazyTensorStorage, TensorDictPrioritizedReplayBuffer, TensorDictReplayBuffer

    rng = np.random.default_rng(0)
    capacity = 2000 if dtype == "uint8" else CAPACITY
    number *= steps
    now, after = (th.from_numpy(frames(shape, dtype, number, rng)) for _ in range(2))
    transitions = TensorDict(
        {
            "obs": now,
            "action": th.randn(number, 6),
            "next": TensorDict(
                {"obs": after, "reward": th.zeros(number, 1), "terminated": th.zeros(number, 1, dtype=th.bool)},
                [number],
            ),
        },
        [number],
    )
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(capacity), batch_size=BATCH)
    yield "insert", microseconds(lambda: buffer.extend(transitions), ROUNDS * 4) / steps
    for _ in range(capacity // number):
        buffer.extend(transitions)
    yield "sample", microseconds(buffer.sample, ROUNDS)
    try:
        buffer = TensorDictPrioritizedReplayBuffer(
            alpha=0.6, beta=0.4, storage=LazyTensorStorage(capacity), batch_size=BATCH, priority_key="td_error"
        )
    except RuntimeError:  # its compiled tree does not fit this torch
        return
    for _ in range(capacity // number):
        buffer.extend(transitions)

    def drawn_and_returned():
        sample = buffer.sample()
        sample["td_error"] = th.rand(BATCH)
        buffer.update_tensordict_priority(sample)

    yield "prioritised", microseconds(drawn_and_returned, ROUNDS)


found = {}
for name, case in CASES.items():
    for peer in (sb3, torchrl):
        for what, time_taken in peer(*case):
            found[f"{peer.__name__}/{name}/{what}"] = time_taken
print(json.dumps(found))
