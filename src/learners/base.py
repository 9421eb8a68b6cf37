"""The common part of all learners besides learning: targets, devices, files, statistics."""

import copy
import os
from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn as nn

from checkpoints.model_files import load_weights, save_weights
from learners import REGISTRY
from learners.data_parallel import in_parallel, parallel_devices
from learners.gradients import clip_gradients, parameters_of, set_gradients
from learners.non_finite import NonFiniteError, non_finite_figure
from learners.targets import Pairs, TargetNetworks
from utils.config import with_defaults
from utils.tensor_trees import map_tree
from utils.timing import timed


class BaseLearner:
    """Owns a controller, its networks and optimisers.

    A subclass fills `networks` (file name -> network, beside the controller's own agent.th) through
    `add_network`, and `optimisers` (file name -> optimiser), and writes `train`.
    """

    def __init__(self, mac, scheme, logger, args):
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.mac = mac
        self.logger = logger
        self.target_mac = None
        self.networks: dict[str, nn.Module] = {}
        self.target_networks: dict[str, nn.Module] = {}
        self.targets = TargetNetworks(self._followed)
        self.optimisers: dict[str, th.optim.Optimizer] = {}
        # updates left out because a value was not finite (on_non_finite=skip), and the last such value
        self.skipped_updates = 0
        self.turned_non_finite = ""
        # the first batch is logged
        self.log_stats_t = -self.args.learner_log_interval - 1

    def add_network(self, name: str, network: nn.Module) -> tuple[nn.Module, nn.Module]:
        """Register `network`, saved as `<name>.th`, and return it with its target network."""
        self.networks[name] = network
        self.target_networks[name] = copy.deepcopy(network)
        return network, self.target_networks[name]

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update from `batch`, after `t_env` steps and `episode_num` episodes."""
        raise NotImplementedError(f"{type(self).__name__} does not define train()")

    def _forward(self, network: Callable, *inputs: Any) -> Any:
        """`network(*inputs)`, computed in `precision`; the outputs are float32 in any case."""
        devices = parallel_devices(self.args)
        if self.args.precision == "float32":
            return in_parallel(network, inputs, devices)
        with th.autocast(th.device(self.args.device).type, dtype=th.bfloat16):
            outputs = in_parallel(network, inputs, devices)
        return map_tree(th.Tensor.float, outputs)

    def _followed(self) -> Pairs:
        if self.target_mac is not None:
            yield self.mac, self.target_mac
        for name, target in self.target_networks.items():
            yield self.networks[name], target

    def _update_targets(self) -> None:
        """Copy the networks into their targets."""
        self.targets.copy()
        self.logger.console_logger.debug("Updated target network")

    def _update_targets_every(self, interval: float, count: int) -> None:
        """`_update_targets` if `count` (of episodes, say) is `interval` further than the last time."""
        if self.targets.due(interval, count):
            self._update_targets()

    def _step(self, optimiser: th.optim.Optimizer, loss: th.Tensor, grad_norm_clip: float | None = None) -> float:
        """`_steps` of one optimiser."""
        return self._steps({optimiser: loss}, grad_norm_clip)[0]

    def _steps(self, losses: dict[th.optim.Optimizer, th.Tensor], clip: float | None = None) -> list[float]:
        """One step of each optimiser down its loss, on which no other one's parameters depend.

        Returns the norms of their gradients before these were clipped to `clip`; None: to that of the config.

        Raises:
            NonFiniteError: a loss or gradient is not finite, and `on_non_finite` is stop; that step was not made.
        """
        clip = self.args.grad_norm_clip if clip is None else clip
        with timed("gradients"):
            set_gradients(losses)
        norms = []
        for optimiser, loss in losses.items():
            parameters = parameters_of(optimiser)
            norms.append(clip_gradients(parameters, clip))
            turned = non_finite_figure(loss, norms[-1], parameters)
            if turned is None:
                with timed("optimiser"):
                    optimiser.step()
            elif self.args.on_non_finite == "stop":
                raise NonFiniteError(turned)
            else:
                self.skipped_updates += 1
                self.turned_non_finite = turned
        return norms

    def _log_due(self, t_env: int) -> bool:
        """Whether statistics are due; if so, the interval restarts."""
        if t_env - self.log_stats_t < self.args.learner_log_interval:
            return False
        self.log_stats_t = t_env
        return True

    def _log(self, stats: dict[str, float], t_env: int) -> None:
        for key, value in stats.items():
            self.logger.log_stat(key, value, t_env)

    def cuda(self) -> None:
        self.mac.cuda()
        if self.target_mac is not None:
            self.target_mac.cuda()
        for network in (*self.networks.values(), *self.target_networks.values()):
            network.cuda()

    def save_models(self, path: str) -> None:
        """Write agent.th, the networks and the optimisers into the folder `path` (PyMARL's files)."""
        self.mac.save_models(path)
        for name, part in (*self.networks.items(), *self.optimisers.items()):
            save_weights(part, os.path.join(path, f"{name}.th"))

    def load_models(self, path: str) -> None:
        """Read the files of `save_models`; the target networks become copies of the networks."""
        self.mac.load_models(path)
        for name, part in (*self.networks.items(), *self.optimisers.items()):
            load_weights(part, os.path.join(path, f"{name}.th"))
        self._update_targets()
