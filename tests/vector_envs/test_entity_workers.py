"""Environments of entities that draw from global generators repeat bit for bit, wherever they live."""

import random
from functools import partial

import numpy as np
import pytest

from envs.entities.adapter import EntityEnv
from envs.entities.batch import EntityBatch
from vector_envs import TRANSPORTS
from vector_envs.batched import BatchedCopies
from vector_envs.in_process import InProcessCopies
from vector_envs.train_and_test import TrainAndTest

SIZE, STEPS = 3, 12
FILE = """
import random
import numpy as np
from entity_gym.env import *


class Swarm(Environment):
    def obs_space(self):
        return ObsSpace(entities={"Bee": Entity(["x", "y"]), "Flower": Entity(["x"])})

    def action_space(self):
        return {"fly": CategoricalActionSpace(["near", "far"]), "visit": SelectEntityActionSpace()}

    def reset(self):
        self.t, self.bees = 0, random.randint(1, 3)
        return self.observe()

    def act(self, actions):
        self.t += 1
        self.visited = list(actions["visit"].actees)
        return self.observe(sum(int(i) for i in actions["fly"].indices) / 4)

    def observe(self, reward=0.0):
        flowers = np.random.normal(size=(np.random.randint(1, 4), 1))
        return Observation(
            features={"Bee": [[random.random(), self.t] for _ in range(self.bees)], "Flower": flowers},
            ids={"Bee": [f"bee{k}" for k in range(self.bees)]},
            actions={
                "fly": CategoricalActionMask(actor_types=["Bee"]),
                "visit": SelectEntityActionMask(actor_ids=["bee0"], actee_types=["Flower"]),
            },
            done=self.t > 0 and random.random() < 0.2,
            reward=reward,
        )
"""


@pytest.fixture
def swarm(tmp_path):
    (tmp_path / "swarm.py").write_text(FILE)
    return {"environment": f"{tmp_path / 'swarm.py'}:Swarm", "max_entities": 3, "max_actors": 3, "episode_limit": 9}


def source(way, args):
    modes = (False, True)
    one = partial(EntityEnv, **args)
    copies = [lambda k=0, b=b: one(seed=10 * k + b) for b in range(SIZE)]
    if way == "batched":
        make = {m: lambda k: BatchedCopies(EntityBatch(SIZE, **args, seed=list(range(SIZE))), SIZE) for m in modes}
        return TrainAndTest(make, separate=True)
    if way == "in_process":
        return TrainAndTest({m: lambda k: InProcessCopies(copies) for m in modes}, separate=True)
    return TRANSPORTS[way]([dict.fromkeys(modes, copy) for copy in copies], 2, True)


def play(env, actions_of):
    """What `STEPS` steps show, from reset to reset."""
    shown = []
    playing = env.play(False)
    playing.reset()
    for t in range(STEPS):
        seen = {path: array.copy() for path, array in playing.observed().items()}
        outcome = playing.step({"actions": actions_of(seen, t)})
        ended = outcome.terminated | outcome.truncated
        shown.append(seen | {"reward": outcome.values["reward"].copy(), "ended": ended.copy()})
        playing.reset(ended)
    return shown


def legal(seen, t):
    mask = seen["avail_actions"]
    return (np.random.default_rng(t).random(mask.shape) * mask).argmax(-1)


def test_every_source_plays_the_same(swarm):
    before = random.getstate(), np.random.get_state()[1].tolist()
    played = {}
    for way in ("batched", "in_process", "shared_memory"):
        env = source(way, swarm)
        try:
            played[way] = play(env, legal)
        finally:
            env.close()
    assert before == (random.getstate(), np.random.get_state()[1].tolist())
    assert any(one["ended"].any() for one in played["batched"])
    for way in ("in_process", "shared_memory"):
        for t, (one, other) in enumerate(zip(played["batched"], played[way], strict=True)):
            for path in one:
                np.testing.assert_array_equal(one[path], other[path], f"{way} {t} {path}")
