"""Walkers: an environment of entities for tests, "walking:Walk", and two like it that are invalid."""

import random

import numpy as np

from envs.entities import CategoricalActionMask, CategoricalActionSpace, Entity, Environment, Observation, ObsSpace
from envs.entities.adapter import EntityEnv  # noqa: F401 - a name here that is no such environment
from envs.entities.batch import EntityBatch


class Walk(Environment):
    """One walker, which draws from the global generators, as files for entity-gym do; it may do anything once."""

    spoil = staticmethod(lambda observation: observation)

    def __init__(self, length: int = 4, walkers: int = 1):
        self.length, self.walkers, self.t = length, walkers, 0

    def obs_space(self):
        return ObsSpace(entities={"Walker": Entity(["x"])})

    def action_space(self):
        return {"go": CategoricalActionSpace(["left", "right"])}

    def reset(self):
        self.t = 0
        return self.seen()

    def act(self, actions):
        self.t += 1
        self.last = actions["go"]
        return self.seen()

    def seen(self):
        rows = [[random.random() + np.random.normal()] for _ in range(self.walkers)]
        return type(self).spoil(
            Observation(
                features={"Walker": rows},
                ids={"Walker": [f"w{k}" for k in range(self.walkers)]},
                actions={"go": CategoricalActionMask(actor_types=["Walker"])},
                done=self.t == self.length,
                reward=1.0,
                metrics={"at": float(self.t)},
            )
        )


class Odd(Walk):
    """Declares what it must not."""

    said = None

    def capacity(self):
        return self.said


class Broken(Walk):
    """Its spaces are invalid."""

    def obs_space(self):
        return ObsSpace(entities={"a/b": Entity(["x"])})


# methods for `Walk`: they stand here since messages name lines of the environment's own file
FAILING = {"obs_space": lambda self: 1 / 0, "act": lambda self, actions: 1 / 0}


def walks(size=2, **options):
    return EntityBatch(size, **{"environment": "walking:Walk", "seed": [3, 4], **options})


def stepped(batch, choice=0):
    return batch.step({"actions": np.full((len(batch._copies), batch.groups["agents"]), choice)})
