"""The common part of all learners besides learning: targets, devices, files, statistics."""

import copy
import os

import torch as th
import torch.nn as nn

from checkpoints.model_files import is_saved, load_weights, save_weights
from learners import REGISTRY
from learners.figures import Figure, numbers
from learners.optimiser_steps import OptimiserSteps
from learners.targets import Pairs, TargetNetworks
from utils.config.merging import with_defaults
from utils.tensors.optimisers import parameter_names

# learning rates of optimisers that do not have `lr`
RATES = {
    "critic_opt": "critic_lr",
    "value_opt": "critic_lr",
    "edge_opt": "edge_lr",
    "entropy_opt": "entropy_lr",
    "classifier_opt": "eoi_lr",
    "ivf_opt": "ivf_lr",
    "intrinsic_opt": "intrinsic_lr",
    "predictor_opt": "predict_lr",
    "predictor_with_id_opt": "predict_lr",
}


class BaseLearner(OptimiserSteps):
    """Owns a controller, its networks and optimisers.

    A subclass fills `networks` (file name -> network, beside the controller's own agent.th) through
    `add_network`, and `optimisers` (file name -> optimiser), and writes `train`.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(with_defaults(args, REGISTRY.defaults_of(type(self))))
        self.mac = mac
        self.logger = logger
        self.target_mac = None
        # controllers with weights of their own that learn in place of `mac`
        self.mac_copies: list = []
        self.networks: dict[str, nn.Module] = {}
        self.target_networks: dict[str, nn.Module] = {}
        self.targets = TargetNetworks(self._target_pairs)
        self.optimisers: dict[str, th.optim.Optimizer] = {}
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

    def _target_pairs(self) -> Pairs:
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

    def _update_targets_by(
        self, interval_or_tau: float | None, every: int = 1, interval: int = 0, count: int = 0
    ) -> None:
        """After an update: a hard or soft update of the targets, see `TargetNetworks.due_after_update`."""
        if self.targets.due_after_update(interval_or_tau, every, interval, count):
            self._update_targets()

    def _log_due(self, t_env: int) -> bool:
        """Whether statistics are due; if so, the interval restarts."""
        if t_env - self.log_stats_t < self.args.learner_log_interval:
            return False
        self.log_stats_t = t_env
        self.look_at_steps()
        return True

    def _log(self, stats: dict[str, Figure], t_env: int) -> None:
        for key, value in numbers(stats).items():
            self.logger.log_stat(key, value, t_env)

    def take_live(self, key: str, value: float) -> None:
        """A key of the config has changed (`experiment.live`): learning rates are the optimisers' matter."""
        for name, optimiser in self.optimisers.items():
            if key == RATES.get(name, "lr"):
                for group in optimiser.param_groups:
                    group["lr"] = value

    def cuda(self) -> None:
        self.mac.cuda()
        if self.target_mac is not None:
            self.target_mac.cuda()
        for mac in self.mac_copies:
            mac.cuda()
        for network in (*self.networks.values(), *self.target_networks.values()):
            network.cuda()

    def save_models(self, path: str) -> None:
        """Write agent.th, the networks and the optimisers into the folder `path` (PyMARL's files)."""
        self.mac.save_models(path)
        for name, part in (*self.networks.items(), *self.optimisers.items()):
            save_weights(part, os.path.join(path, f"{name}.th"))

    def load_models(self, path: str) -> None:
        """Read the files of `save_models`; the target networks become copies of the networks.

        An optimiser without a file, as in models that are given away, starts as it is, with a warning.
        """
        self.mac.load_models(path)
        for name, network in self.networks.items():
            load_weights(network, os.path.join(path, f"{name}.th"))
        modules = [part for part in (*vars(self.mac).values(), *self.networks.values()) if isinstance(part, nn.Module)]
        absent = []
        for name, optimiser in self.optimisers.items():
            file = os.path.join(path, f"{name}.th")
            if is_saved(file):
                load_weights(optimiser, file, parameter_names(optimiser, modules))
            else:
                absent.append(f"{name}.th")
        if absent:
            self.logger.console_logger.warning(f"{path} has no {', '.join(absent)}: optimisers start without moments.")
        self._update_targets()
