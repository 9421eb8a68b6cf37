"""Environments of Gymnasium for tests, with spaces of all kinds; import it as "gym_tasks:Kinds-v0"."""

import gymnasium
import numpy as np
from gymnasium import spaces

SEEN = spaces.Dict(
    camera=spaces.Box(0, 255, (2, 3, 1), np.uint8),
    own=spaces.Dict(speed=spaces.Box(-np.inf, 9.0, (2,), np.float64), gear=spaces.Discrete(3, start=1)),
    lamps=spaces.MultiBinary(2),
    pair=spaces.Tuple([spaces.MultiDiscrete([2, 3]), spaces.Discrete(2)]),
)
DONE = spaces.Dict(
    steer=spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 5.0]), dtype=np.float64),
    gear=spaces.Discrete(3, start=1),
    doors=spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([[2, 3]], start=[[5, 0]])]),
)


class Kinds(gymnasium.Env):
    """It notes what it is given. Episodes end after `length` steps in one of the ways "terminated" and "truncated"."""

    def __init__(self, length=4, ends=("terminated",), actions="all", kept=None):
        self.length, self.ends, self.given = length, list(ends), []
        self.observation_space = SEEN
        self.action_space = {"all": DONE, "pair": DONE["doors"], "choice": DONE["gear"]}[actions]
        self.kept = {"world": object(), None: None}[kept]

    def seen(self):
        return {
            "camera": np.full((2, 3, 1), 10 * self.t, np.uint8),
            "own": {"speed": np.array([self.noise, self.t]), "gear": 1 + self.t % 3},
            "lamps": np.array([self.t % 2, 1], np.int8),
            "pair": (np.array([1, self.t % 3]), 1),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.noise = 0, self.np_random.random()
        return self.seen(), {"action_mask": np.array([0, 1, 1], np.int8)}

    def step(self, action):
        self.given = [*self.given[-3:], action]
        self.t, self.noise = self.t + 1, self.np_random.random()
        over = self.t >= self.length
        mask = np.array([1, 0, 0], np.int8) if self.t < 3 else np.zeros(3, np.int8)
        ends = [over and end in self.ends for end in ("terminated", "truncated")]
        at_times = {"bonus": 0.5 * self.t, "name": "x"} if self.t == 2 else {}
        return self.seen(), self.t / 2, *ends, {"distance": self.t, "action_mask": mask, **at_times}


class Bonus(gymnasium.Env):
    """Episodes of three steps, the last of which has the info `bonus`."""

    observation_space, action_space = spaces.Box(0.0, 3.0, (1,), np.float32), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        over = self.t == 3
        return np.full(1, self.t, np.float32), 1.0, over, False, {"bonus": 0.5} if over else {}


gymnasium.register("Bonus-v0", entry_point=Bonus, max_episode_steps=6)
gymnasium.register("Kinds-v0", entry_point=Kinds, max_episode_steps=6)
