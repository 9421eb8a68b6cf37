"""The controller of actor-critic learners: a stochastic policy over actions of any kind."""

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any

import torch as th
import torch.nn as nn

from checkpoints.model_files import load_weights, save_weights
from controllers import REGISTRY
from controllers.basic_controller import BasicMAC
from controllers.decisions import Decision, extras_of_policy
from controllers.one_network import copy_weights
from modules.initialisation import orthogonal
from modules.policies.distributions import Joint
from modules.policies.policy import Policy
from modules.unshared import alone
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.numbers.running_statistics import RunningNorm
from utils.numbers.schedules import Schedule
from utils.tensors.schemes import observed_fields

# normalised observations are kept between -10 and 10
CLIP = 10.0


class PolicyMAC(BasicMAC):
    """Observations (+ last actions, + agent ids) of all agents -> outputs of the agent -> distributions of actions.

    Actions are one choice, several, or continuous (`modules.policies`). With `critic: trunk` the network has one more
    output, the value of the agent's observation.
    """

    supports_decide = True

    def __init__(self, scheme, groups, args):
        args = copy.copy(with_defaults(args, REGISTRY.defaults_of(type(self))))
        if args.deviation == "none" and type(self) is PolicyMAC:
            raise ConfigError("deviation=none leaves no distribution to learn from. Use it with mac=actor_mac.")
        self.policy = Policy(scheme, args)
        self.has_values = args.critic == "trunk"
        self.exploration = self._random_share(args)
        # of the network
        args.n_actions = self.policy.size + self.has_values
        super().__init__(scheme, groups, args)
        self.normalisers = nn.ModuleDict()
        if args.normalise_observations:
            for key in observed_fields(scheme):
                if scheme[key].get("dtype", th.float32) != th.uint8:  # pictures are scaled already
                    self.normalisers[key] = RunningNorm(scheme[key]["vshape"], CLIP, args.normaliser_count)
            self.inputs.normalisers = self.normalisers
        self._initialise()

    def _random_share(self, args: Any) -> Any:
        """The share of random choices, by steps; None: there are none."""
        if args.noise != "epsilon":
            return None
        if any(branch.n is None for branch in self.policy.branches.values()):
            raise ConfigError("noise=epsilon of mac=policy_mac needs actions that are choices. Use noise=none.")
        return Schedule.of(args.noise_scale)

    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        """Actions at step `t` of the episodes `rows`, with the extras "log_prob", "entropy" and, if it has, "value"."""
        with th.no_grad():  # as a decorator, it takes twice as long
            outputs = self._acting_outputs(batch, t, test_mode)
            if not (isinstance(rows, slice) and rows == slice(None)):
                outputs = outputs[rows]
            policy = self.distribution(outputs, {mask: batch[mask][rows, t] for mask in self.policy.masks})
            actions = policy.mode() if test_mode and self.args.test_greedy else policy.sample()
            if self.exploration is not None and not test_mode and (share := self.exploration.eval(t_env)):
                masks = {mask: batch[mask][rows, t] for mask in self.policy.masks}
                at_random = th.rand(outputs.shape[:-1], device=outputs.device) < share
                others = self.distribution(th.zeros_like(outputs), masks).sample()
                actions = {path: th.where(at_random, others[path], x) for path, x in actions.items()}
        extras = extras_of_policy(policy, actions)
        if self.has_values:
            extras["value"] = lambda: self.values(outputs).unsqueeze(-1)
        if list(policy.branches) == ["actions"] and hasattr(policy.branches["actions"], "probs"):
            extras["policy"] = extras["probs"] = lambda: policy.branches["actions"].probs
        return Decision(self.policy.shaped(actions), extras)

    def select_actions(self, ep_batch, t_ep: int, t_env: int, bs=slice(None), test_mode: bool = False) -> th.Tensor:
        """PyMARL's call: actions `[len(bs), n]` where they are one choice."""
        return self.decide(ep_batch, t_ep, t_env, bs, test_mode).actions["actions"]

    def distribution(self, outputs: th.Tensor, masks: Mapping[str, th.Tensor]) -> Joint:
        """The distribution of actions, by outputs `[..., n, size]` and legal choices `[..., n, A]` of each field."""
        return self.policy.of(outputs, masks)

    def values(self, outputs: th.Tensor) -> th.Tensor:
        """The values among the outputs `[..., n, size + 1]`: `[..., n]`."""
        return outputs[..., -1]

    def alone(self, i: int | None) -> "PolicyMAC":
        """A controller with copies of the weights, to learn with: of agent i, for batches that have no other.

        None: of all agents. Its network has second derivatives (`modules.unshared.alone`).
        """
        own = copy.copy(self)
        own.agent, own.policy = alone(self.agent, i), self.policy.alone(i)
        if i is not None:
            own.n_agents, own.inputs = 1, self.inputs.of_agent(i)
        return own

    def take_in(self, batch: Any, mask: th.Tensor) -> None:
        """Count the observations of a batch of T steps where `mask` `[B, T, 1]` is not 0 in their normalisation."""
        for key, norm in self.normalisers.items():
            norm.update(batch[key], mask.expand(-1, -1, self.n_agents))

    def parameters(self) -> Iterator[nn.Parameter]:
        yield from self.agent.parameters()
        yield from self.policy.parameters()

    def load_state(self, other_mac: "PolicyMAC") -> None:  # type: ignore[override]
        copy_weights(list(zip(self._networks().values(), other_mac._networks().values(), strict=True)))

    def cuda(self) -> None:
        for network in self._networks().values():
            network.cuda()

    def save_models(self, path: str) -> None:
        """Write `agent.th` and, as far as they have a state, `policy.th` and `observations.th` into the folder."""
        for name, network in self._networks().items():
            if network.state_dict():
                save_weights(network, os.path.join(path, f"{name}.th"))

    def load_models(self, path: str) -> None:
        for name, network in self._networks().items():
            if network.state_dict():
                load_weights(network, os.path.join(path, f"{name}.th"))

    def _networks(self) -> dict[str, nn.Module]:
        return {"agent": self.agent, "policy": self.policy, "observations": self.normalisers}

    def _initialise(self) -> None:
        if self.args.orthogonal_init:
            orthogonal(self.agent, self.args.policy_gain)

    def _build_selector(self) -> None:
        """Actions are drawn from the policy."""

    def _legal(self, batch, t: int | slice) -> None:
        """Illegal actions are masked in the distribution."""

    def _finish_outputs(self, agent_outs: th.Tensor, avail_actions: Any, test_mode: bool) -> th.Tensor:
        return agent_outs
