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
        # in infos, of the one choice
        self.masked = actions == "choice"
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
        return self.seen(), {"action_mask": np.array([0, 1, 1], np.int8)} if self.masked else {}

    def step(self, action):
        self.given = [*self.given[-3:], action]
        self.t, self.noise = self.t + 1, self.np_random.random()
        over = self.t >= self.length
        mask = np.array([1, 0, 0], np.int8) if self.t < self.length else np.zeros(3, np.int8)
        masks = {"action_mask": mask} if self.masked else {}
        ends = [over and end in self.ends for end in ("terminated", "truncated")]
        at_times = {"bonus": 0.5 * self.t, "name": "x"} if self.t == 2 else {}
        return self.seen(), self.t / 2, *ends, {"distance": self.t, **masks, **at_times}


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


class Turns(gymnasium.Env):
    """Two of five choices are legal, others at each step; it raises at an illegal one. Episodes have seven steps.

    Args:
        form: where and how it marks them.
        wrong: from step 3 on, what it offers in place of the mask; "missing": nothing.
    """

    def __init__(self, form="info", wrong=None):
        self.form, self.wrong = form, wrong
        box = spaces.Box(-9, 9, (2,), np.float32)
        mask = spaces.MultiBinary(5)
        self.observation_space = {
            "observation": spaces.Dict(observation=box, action_mask=mask),
            "rllib": spaces.Dict(action_mask=spaces.Box(0, 1, (5,)), observations=box),
            "parts": spaces.Dict(near=box, action_mask=mask, far=box),
        }.get(form, box)
        self.action_space = {
            "branches": spaces.MultiDiscrete([5, 2], start=[3, 0]),
            "flat": spaces.MultiDiscrete([5, 2], start=[3, 0]),
            "switches": spaces.MultiBinary(3),
            "flat switches": spaces.MultiBinary(3),
            "dict": spaces.Dict(turn=spaces.Discrete(5, start=3), speed=spaces.Box(0, 1)),
        }.get(form, spaces.Discrete(5, start=3))
        if form in ("method", "flat"):
            self.action_masks = self.mask

    def mask(self):
        if self.wrong is not None and self.t >= 3:
            return None if isinstance(self.wrong, str) else np.array(self.wrong)
        legal = np.zeros(5, np.int8)
        legal[[self.t % 5, (self.t + 2) % 5]] = 1
        return {
            "branches": lambda: (legal, np.array([1, 0], np.int8)),
            "flat": lambda: np.array([*legal, 1, 0], bool),
            "switches": lambda: np.array([0, 1, 2], np.int8),
            "flat switches": lambda: np.array([1, 0, 0, 1, 1, 1], bool),
            "dict": lambda: {"turn": legal, "speed": None},
        }.get(self.form, lambda: legal)()

    def seen(self):
        seen, mask = np.array([1, self.t], np.float32), self.mask()
        masked = {} if mask is None else {"action_mask": mask}
        return {
            "observation": lambda: {"observation": seen, **masked},
            "rllib": lambda: {"observations": seen, **masked},
            "parts": lambda: {"near": seen, "far": -seen, **masked},
        }.get(self.form, lambda: seen)()

    def info(self):
        elsewhere = self.form in ("observation", "rllib", "parts", "method", "flat") or self.mask() is None
        return {} if elsewhere else {"action_mask": self.mask()}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.seen(), self.info()

    def step(self, action):
        if "switches" in self.form:
            legal = action[0] == 0 and action[1] == 1
        else:
            turn = action["turn"] if self.form == "dict" else action[0] if np.ndim(action) else action
            legal = (turn - 3 - self.t) % 5 in (0, 2) and (not np.ndim(action) or action[1] == 0)
        if not legal:
            raise RuntimeError(f"illegal action {action} at step {self.t}")
        self.t += 1
        return self.seen(), 1.0, self.t >= 7, False, self.info()


gymnasium.register("Bonus-v0", entry_point=Bonus, max_episode_steps=6)
gymnasium.register("Turns-v0", entry_point=Turns, max_episode_steps=50)
gymnasium.register("Kinds-v0", entry_point=Kinds, max_episode_steps=6)
