"""The controller of off-policy actor-critics: policies without a memory, and how they explore."""

from typing import Any

import torch as th

from components.noise import ActionNoise
from controllers import REGISTRY
from controllers.decisions import Decision, extras_of_policy
from controllers.hidden_states import for_all_agents
from controllers.policy_controller import PolicyMAC
from modules.agents import REGISTRY as agent_REGISTRY
from modules.policies.policy import plain
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.tensors.schemes import action_fields
from utils.tensors.shared_rows import shared
from utils.tensors.tensor_trees import Tree


class ActorMAC(PolicyMAC):
    """Distributions of actions, or with `deviation: none` one continuous action of each agent, plus noise in training.

    In the first `random_steps` steps of the run, actions are uniformly random. Memory: {"agent": of the network, which
    it does not change, "acted": 1 after the first step of an episode, `[B, n, 1]`}.

    Attributes:
        continuous: the continuous actions; none if they are choices.
        action_size: numbers of one agent's action, or choices.
        deterministic: whether there is one action and no distribution.
        bounded: whether continuous actions are tanh of what the network puts out.

    Raises:
        ConfigError: an agent with a memory, inputs from the step before, or noise that does not suit the actions.
    """

    supports_prepared = True

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass with its own inputs or outputs acts by these."""
        if "supports_prepared" not in vars(cls):
            own = ("forward", "outputs_at", "_build_inputs", "_initial")
            cls.supports_prepared = all(getattr(cls, name) is getattr(ActorMAC, name) for name in own)
        super().__init_subclass__(**options)

    def __init__(self, scheme, groups, args):
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        if args.obs_last_action or args.obs_mean_action:
            key = "obs_last_action" if args.obs_last_action else "obs_mean_action"
            raise ConfigError(f"mac=actor_mac learns from single steps. Use {key}=False.")
        if args.agent in agent_REGISTRY and agent_REGISTRY.entry(args.agent).traits.get("memory"):
            raise ConfigError(
                f"mac=actor_mac learns from single steps, and agent={args.agent} has a memory. Use agent=ff."
            )
        super().__init__(scheme, groups, args)
        self._onehot = dict(zip(self.policy.branches, action_fields(scheme), strict=True))
        self.continuous = [path for path, branch in self.policy.branches.items() if branch.n is None]
        chosen = [path for path in self.policy.branches if path not in self.continuous]
        if chosen and self.continuous:
            raise ConfigError(
                f"mac=actor_mac takes continuous actions ({', '.join(self.continuous)}) or choices "
                f"({', '.join(chosen)}), not both."
            )
        if len(chosen) > 1:
            raise ConfigError(f"mac=actor_mac takes one choice at a time, not {len(chosen)} ({', '.join(chosen)}).")
        if chosen and args.noise in ("gaussian", "ou"):
            raise ConfigError(
                f"noise={args.noise} does not suit actions that are choices, which are drawn. Use noise=auto."
            )
        if chosen and args.bernoulli:
            raise ConfigError("bernoulli=True does not suit actions that are choices. Leave it out.")
        self.deterministic, self.bounded = args.deviation == "none" and not chosen, args.squash == "tanh"
        # of one agent
        numbers = sum(self.policy.branches[path].numbers for path in self.continuous)
        self.action_size = numbers or self.policy.size
        self.noise = ActionNoise(args, args.batch_size_run, self.n_agents, numbers)

    def _random_share(self, args: Any) -> None:
        """Its noise is another, of all kinds of actions."""

    @th.no_grad()
    def decide(self, batch, t: int, t_env: int, rows=slice(None), test_mode: bool = False) -> Decision:
        """Actions at step `t` of the episodes `rows`."""
        acted = self.hidden_states["acted"].view(batch.batch_size, self.n_agents, 1)[rows]
        outputs = self._acting_outputs(batch, t, test_mode)[rows]
        masks = {mask: batch[mask][rows, t] for mask in self.policy.masks}
        policy = self.distribution(outputs, masks)
        if test_mode:
            actions = policy.mode() if self.args.test_greedy else policy.sample()
        elif t_env < self.args.random_steps:
            actions = self._random(outputs, masks)
        else:
            actions = self._explored(policy.sample(), outputs, masks, rows, acted, t_env)
        return Decision(self.policy.shaped(actions), extras_of_policy(policy, actions))

    def forward(self, ep_batch, t: int, test_mode: bool = False) -> th.Tensor:
        """Outputs at step `t`, `[B, n, size]`; from now on every episode has begun."""
        self._note_acted()
        return self.outputs_at(ep_batch, t)

    def _acting_outputs(self, batch: Any, t: int, test_mode: bool) -> th.Tensor:
        """As `forward`, by the prepared pass of the network if it has one."""
        advanced = self._prepared.step(batch, t, self.hidden_states["agent"])
        if advanced is None:
            return self.forward(batch, t, test_mode=test_mode)
        self._note_acted()
        return advanced[0]

    def _note_acted(self) -> None:
        acted = th.ones_like(self.hidden_states["acted"])
        self.hidden_states = {"agent": self.hidden_states["agent"], "acted": acted}

    def outputs_at(self, batch: Any, t: int) -> th.Tensor:
        """Outputs at step `t`, `[B, n, size]`, for learning: nothing is remembered."""
        inputs, initial = self._build_inputs(batch, t), self._initial(batch.batch_size, copied=False)
        outputs = shared(self.agent, inputs, initial, together=self.n_agents)[0]
        return outputs.reshape(batch.batch_size, self.n_agents, -1)

    def policy_at(self, batch: Any, t: int) -> Any:
        """The distribution of actions at step `t` (`modules.policies`)."""
        return self.distribution(self.outputs_at(batch, t), {mask: batch[mask][:, t] for mask in self.policy.masks})

    def taken_at(self, batch: Any, t: int) -> th.Tensor:
        """The actions of a batch at step `t`, `[B, n, K]`: choices one-hot, others in halves of their ranges."""
        if not self.continuous:
            return batch[self._onehot[next(iter(self._onehot))]][:, t].float()
        return th.cat([self._units(path, plain(batch[path][:, t], 2)) for path in self.continuous], dim=-1)

    def init_hidden(self, batch_size: int) -> None:
        self.hidden_states = {
            "agent": self._initial(batch_size),
            "acted": next(self.parameters()).new_zeros(batch_size, self.n_agents, 1),
        }

    def _initial(self, batch_size: int, copied: bool = True) -> Tree:
        return for_all_agents(self.agent.init_hidden(), batch_size, self.n_agents, copied)

    def _units(self, path: str, actions: th.Tensor) -> th.Tensor:
        centre, scale = self.policy.limits(path)
        return (actions - centre) / scale

    def _explored(
        self, actions: dict, outputs: th.Tensor, masks: dict, rows: Any, acted: th.Tensor, t_env: int
    ) -> dict:
        if self.noise.kind in ("gaussian", "ou"):
            units = th.cat([self._units(path, actions[path]) for path in self.continuous], dim=-1)
            actions = self.of_units(self.noise.added(units, rows, acted, t_env))
        if not self.noise.replaces:
            return actions
        which, others = self.noise.at_random(outputs, t_env), self._random(outputs, masks)
        return {
            path: th.where(which.view(*which.shape, *[1] * (x.dim() - 2)), others[path], x)
            for path, x in actions.items()
        }

    def of_units(self, units: th.Tensor) -> dict[str, th.Tensor]:
        """The actions, as distributions have them, from numbers in halves of their ranges `[..., K]`."""
        sizes = [self.policy.branches[path].numbers for path in self.continuous]
        found = {}
        for path, part in zip(self.continuous, units.split(sizes, dim=-1), strict=True):
            centre, scale = self.policy.limits(path)
            found[path] = centre + scale * part
        return found

    def _random(self, outputs: th.Tensor, masks: dict) -> dict[str, th.Tensor]:
        """Uniform over the whole range of each number, or over the legal choices."""
        if self.continuous:
            shape = (*outputs.shape[:2], self.action_size)
            return self.of_units(th.rand(shape, device=outputs.device) * 2 - 1)
        return self.policy.of(th.zeros_like(outputs), masks).sample()
