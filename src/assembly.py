"""From a config to the parts of a run."""

import copy
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch as th

from components.episode_buffer import EpisodeBatch, ReplayBuffer
from components.storage import smallest_integer
from components.transforms import OneHot
from controllers import REGISTRY as mac_REGISTRY
from learners import REGISTRY as le_REGISTRY
from learners.batch_fields import batch_fields
from runners import REGISTRY as r_REGISTRY
from utils.available_memory import available_memory, readable_size
from utils.devices import acting_device
from utils.errors import ConfigError, MusterError
from utils.logging import Logger


@dataclass
class Parts:
    """What the loop works with; `acting_mac` is `mac` or a copy of it, which the loop keeps up to date."""

    runner: Any
    buffer: Any
    mac: Any
    acting_mac: Any
    learner: Any


def build_scheme(env_info: dict, buffer_dtype: str = "float32") -> tuple[dict, dict, dict]:
    """Scheme, groups and preprocess of the batches of an environment, from its `get_env_info()`.

    "terminated" has PyMARL's meaning: the episode ended because of what happened. "truncated": it was cut off,
    and values go on after it. "storage" is the smaller type in which the buffer keeps a field.
    """
    n_actions = env_info["n_actions"]
    floats, action = {"storage": getattr(th, buffer_dtype)}, {"storage": smallest_integer(n_actions)}
    scheme = {
        "state": {"vshape": env_info["state_shape"], **floats},
        "obs": {"vshape": env_info["obs_shape"], "group": "agents", **floats},
        "actions": {"vshape": (1,), "group": "agents", "dtype": th.long, **action},
        "avail_actions": {"vshape": (n_actions,), "group": "agents", "dtype": th.int, "storage": th.uint8},
        "reward": {"vshape": (1,)},
        "terminated": {"vshape": (1,), "dtype": th.uint8},
        "truncated": {"vshape": (1,), "dtype": th.uint8},
    }
    groups = {"agents": env_info["n_agents"]}
    preprocess = {"actions": ("actions_onehot", [OneHot(out_dim=n_actions)])}
    return scheme, groups, preprocess


def build_buffer(
    scheme: dict, groups: dict, preprocess: dict, max_seq_length: int, args: SimpleNamespace, logger: Logger
) -> ReplayBuffer:
    """The replay buffer of a run; says how large it can become.

    Raises:
        MusterError: larger than the memory there is.
    """
    device = "cpu" if args.buffer_cpu_only else args.device
    build = partial(ReplayBuffer, scheme, groups, max_seq_length=max_seq_length, preprocess=preprocess)
    episode = build(buffer_size=1, device="meta").nbytes
    size, available = args.buffer_size * episode, available_memory(device)
    figures = f"{args.buffer_size} episodes, up to {readable_size(size)}"
    if available is not None and size > available:
        choices = ["a smaller buffer_size"]
        if args.buffer_dtype == "float32":
            choices.append("buffer_dtype=float16")
        if device != "cpu":
            choices.append("buffer_cpu_only=True")
        raise MusterError(
            f"The replay buffer does not fit: {figures}, where {readable_size(available)} are free. "
            f"An episode takes up to {readable_size(episode)}. Choose {' or '.join(choices)}."
        )
    logger.console_logger.info(f"Replay buffer: {figures}")
    return build(buffer_size=args.buffer_size, device=device)


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

        scheme, groups, preprocess = build_scheme(env_info, args.buffer_dtype)
        own_fields = batch_fields(args.learner, env_info)
        if taken := sorted({*scheme, "actions_onehot", "filled"} & set(own_fields)):
            raise ConfigError(f"learner={args.learner} declares batch_fields that every batch has: {', '.join(taken)}.")
        scheme |= own_fields
        # a batch knows the fields that are derived, too
        mac = mac_REGISTRY[args.mac](EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess).scheme, groups, args)
        acting_mac = mac
        if args.overlap or acting_device(args) != args.device:
            acting_mac = copy.deepcopy(mac)
            if acting_device(args) == "cuda":
                acting_mac.cuda()
        runner.setup(scheme=scheme, groups=groups, preprocess=preprocess, mac=acting_mac)
        # a runner whose batches are not whole episodes says what they are
        scheme = getattr(runner, "batch_scheme", scheme)
        columns = getattr(runner, "batch_columns", env_info["episode_limit"] + 1)
        buffer = build_buffer(scheme, groups, preprocess, columns, args, logger)
        learner = le_REGISTRY[args.learner](mac, buffer.scheme, logger, args)
        if args.device == "cuda":
            learner.cuda()
        if args.compile == "on":
            _compile(learner)
    except BaseException:
        runner.close_env()
        raise
    return Parts(runner, buffer, mac, acting_mac, learner)


def _compile(learner: Any) -> None:
    """Have torch compile the networks that see whole batches; agents are unrolled by hand-written code."""
    for network in (*learner.networks.values(), *learner.target_networks.values()):
        # for any number of steps; in place, so that the names of the weights stay
        network.compile(dynamic=True)
