"""Starts main.py of a PyMARL of Python 3.6's time, unchanged, on an environment that costs nothing.

    python family_free.py ../pymarl3/src/main.py --config=hpn_qmix --env-config=sc2 with env_args.map_name=8m t_max=9000

Its game of StarCraft is replaced by `free_env.py`'s arrays in the shapes of its map, and what Python, NumPy and PyYAML
have dropped since is put back. Run it in the folder in which it shall write its results.
"""

import collections
import collections.abc
import functools
import os
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import torch as th
import yaml

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
from free_shapes import ENEMIES, MOVES, SHAPES  # noqa: E402

script = Path(sys.argv[1]).resolve()
sys.argv = [str(script), *sys.argv[2:]]
sys.path[:0] = [str(script.parent)]

collections.Mapping = collections.abc.Mapping
for name, kind in {"int": int, "float": float, "bool": bool, "object": object}.items():
    if name not in np.__dict__:
        setattr(np, name, kind)
# PyMARL2's QPLEX sends tensors to a GPU whatever use_cuda says
th.Tensor.cuda = lambda self, *_, **__: self
load = yaml.load
yaml.load = functools.wraps(load)(lambda text, Loader=yaml.SafeLoader: load(text, Loader))


class Free:
    """Every step shows the same arrays (as `free_env.FreeEnv`), with the facts that PyMARL3 asks for."""

    def __init__(self, map_name="8m", seed=None, **_):
        self.n_agents, obs, state, self.n_actions = SHAPES[map_name]
        self.n_enemies, self.episode_limit, self.t = ENEMIES[map_name], 60, 0
        rng = np.random.default_rng(seed)
        self.obs = list(rng.random((self.n_agents, obs), dtype=np.float32))
        self.state = rng.random(state, dtype=np.float32)
        self.available = [[1] * self.n_actions] * self.n_agents

    def reset(self):
        self.t = 0
        return self.obs, self.state

    def step(self, actions):
        self.t += 1
        ended = self.t == self.episode_limit
        return 1.0, ended, {"episode_limit": True} if ended else {}

    def get_obs(self):
        return self.obs

    def get_state(self):
        return self.state

    def get_avail_actions(self):
        return self.available

    def get_stats(self):
        return {}

    def close(self):
        pass

    def save_replay(self):
        pass

    def get_env_info(self):
        allies = self.n_agents - 1
        # movement, enemies with 5 features, allies with 5, its own
        own = len(self.obs[0]) - 4 - 5 * self.n_enemies - 5 * allies
        return {
            "state_shape": len(self.state),
            "obs_shape": len(self.obs[0]),
            "n_actions": self.n_actions,
            "n_agents": self.n_agents,
            "episode_limit": self.episode_limit,
            "n_normal_actions": MOVES,
            "n_allies": allies,
            "n_enemies": self.n_enemies,
            "state_ally_feats_size": 4,
            "state_enemy_feats_size": 3,
            "obs_component": [4, (self.n_enemies, 5), (allies, 5), own],
            "state_component": [(self.n_agents, 4), (self.n_enemies, 3), len(self.state)],
            "map_type": "marines",
            "unit_dim": 4,
        }


for module, game in {
    "smac": "StarCraft2Env",
    "smac.env": "StarCraft2Env",
    "envs.starcraft": "StarCraft2Env",
    "envs.stag_hunt": "StagHunt",
    "envs.smac_v1": "StarCraft2EnvWrapper",
    "envs.smac_v2": "StarCraft2Env2Wrapper",
}.items():
    stand_in = types.ModuleType(module)
    setattr(stand_in, game, Free)
    sys.modules[module] = stand_in
os.environ.setdefault("SC2PATH", ".")
runpy.run_path(str(script), run_name="__main__")
