"""From a config to the parts of a run."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch as th

from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.transforms import OneHot
from controllers import REGISTRY as mac_REGISTRY
from learners import REGISTRY as le_REGISTRY
from runners import REGISTRY as r_REGISTRY
from utils.logging import Logger


@dataclass
class Parts:
    """What the loop works with."""

    runner: Any
    buffer: Any
    mac: Any
    learner: Any


def build_scheme(env_info: dict) -> tuple[dict, dict, dict]:
    """Scheme, groups and preprocess of the batches of an environment, from its `get_env_info()`.

    "terminated" has PyMARL's meaning: the episode ended because of what happened. "truncated": it was cut off,
    and values go on after it.
    """
    scheme = {
        "state": {"vshape": env_info["state_shape"]},
        "obs": {"vshape": env_info["obs_shape"], "group": "agents"},
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long},
        "avail_actions": {"vshape": (env_info["n_actions"],), "group": "agents", "dtype": th.int},
        "reward": {"vshape": (1,)},
        "terminated": {"vshape": (1,), "dtype": th.uint8},
        "truncated": {"vshape": (1,), "dtype": th.uint8},
    }
    groups = {"agents": env_info["n_agents"]}
    preprocess = {"actions": ("actions_onehot", [OneHot(out_dim=env_info["n_actions"])])}
    return scheme, groups, preprocess


def assemble(args: SimpleNamespace, logger: Logger) -> Parts:
    """Build runner, buffer, controller and learner; adds the environment's sizes to `args`.

    The runner starts environments. If anything after it fails, they are closed again.
    """
    runner = r_REGISTRY[args.runner](args=args, logger=logger)
    try:
        env_info = runner.get_env_info()
        args.n_agents = env_info["n_agents"]
        args.n_actions = env_info["n_actions"]
        args.state_shape = env_info["state_shape"]
        args.episode_limit = env_info["episode_limit"]

        scheme, groups, preprocess = build_scheme(env_info)
        # a batch knows the fields that are derived, too
        mac = mac_REGISTRY[args.mac](EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess).scheme, groups, args)
        runner.setup(scheme=scheme, groups=groups, preprocess=preprocess, mac=mac)
        # a runner whose batches are not whole episodes says what they are
        buffer = ReplayBuffer(
            getattr(runner, "batch_scheme", scheme),
            groups,
            args.buffer_size,
            getattr(runner, "batch_columns", env_info["episode_limit"] + 1),
            preprocess=preprocess,
            device="cpu" if args.buffer_cpu_only else args.device,
        )
        learner = le_REGISTRY[args.learner](mac, buffer.scheme, logger, args)
        if args.use_cuda:
            learner.cuda()
    except BaseException:
        runner.close_env()
        raise
    return Parts(runner, buffer, mac, learner)
