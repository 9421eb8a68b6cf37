"""An environment of entities: miners on a line collect nuggets."""

import random

from envs.entities import CategoricalActionMask, CategoricalActionSpace, Entity, Environment, Observation, ObsSpace


class GoldRush(Environment):
    """Miners move a place to the left or to the right; the nuggets they reach are collected, 1 for all of them."""

    episode_limit = 15

    def __init__(self, miners: int = 2, nuggets: int = 3):
        self.n_miners, self.n_nuggets, self.random = miners, nuggets, random.Random()

    def capacity(self):
        return {"Miner": self.n_miners, "Nugget": self.n_nuggets}

    def max_actors(self):
        return {"Move": self.n_miners}

    def seed(self, seed):
        self.random.seed(seed)

    def obs_space(self):
        return ObsSpace(entities={"Miner": Entity(["x"]), "Nugget": Entity(["x"])})

    def action_space(self):
        return {"Move": CategoricalActionSpace(["Left", "Right"])}

    def reset(self):
        self.miners = self.random.sample(range(-3, 4), self.n_miners)
        self.nuggets = [self.random.randint(-5, 5) for _ in range(self.n_nuggets)]
        return self.observe(0.0)

    def act(self, actions):
        for miner, choice in zip(actions["Move"].actors, actions["Move"].labels, strict=True):
            self.miners[miner] += 1 if choice == "Right" else -1
        left = [x for x in self.nuggets if x not in self.miners]
        reward, self.nuggets = (len(self.nuggets) - len(left)) / self.n_nuggets, left
        return self.observe(reward)

    def observe(self, reward):
        miners = [[x] for x in self.miners], list(range(self.n_miners))
        return Observation(
            entities={"Miner": miners, "Nugget": [[x] for x in self.nuggets]},
            actions={"Move": CategoricalActionMask(actor_types=["Miner"])},
            reward=reward,
            done=not self.nuggets,
        )
