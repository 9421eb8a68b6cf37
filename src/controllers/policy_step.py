"""One step of a controller's policy as a function of tensors, for engines outside Python, which know no batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from controllers.actor_controller import ActorMAC
from controllers.basic_controller import BasicMAC
from controllers.policy_controller import PolicyMAC
from modules.agents.messages import CommunicatingAgent
from modules.policies.distributions import ILLEGAL, Categorical, Deterministic, Joint
from utils.errors import ConfigError
from utils.tensors.tensor_trees import Tree, is_tree, leaves, map_tree


@dataclass
class Step:
    """Of B agents: actions drawn and greedy ones, and the memory after the step.

    `choices`: one tensor int64 `[B, 1]` for each branch; `log_probs`: `[B, all choices]`, None without choices;
    `numbers`: continuous actions `[B, k]`, or None; `memory` `[B, M]`, or None.
    """

    choices: list[th.Tensor]
    greedy_choices: list[th.Tensor]
    log_probs: th.Tensor | None
    numbers: th.Tensor | None
    greedy_numbers: th.Tensor | None
    memory: th.Tensor | None


class PolicyStep(nn.Module):
    """What a controller decides for one agent, as it decides in tests, and as it draws actions.

    The memory, of `memory` numbers and zeros at the start of an episode, is that of the network and, with
    `obs_last_action`, the last action. All operations are those of ONNX's early versions: masks are added, not chosen
    by.

    Args:
        mac: `BasicMAC`, `PolicyMAC` or `ActorMAC`, with the weights.
        fields: of the environment as its team sees it: path -> `envs.contract.fields.FieldSpec`.
        greedy: drawn actions are the greedy ones; so they are where nothing is drawn, and with `obs_last_action`, which
            has to know what was done.

    Attributes:
        shapes: of each observation of an agent, by field.
        branches: choices of each branch.
        numbers: of continuous actions.
        sees_id: whether an input is the agent's one-hot number, of `n_agents`.

    Raises:
        ConfigError: a network or controller that cannot be computed so, with the reason.
    """

    def __init__(self, mac: Any, fields: Mapping[str, Any], greedy: bool = False):
        super().__init__()
        _require_supported(mac, fields)
        self.agent, self.n_agents = mac.agent.cpu().eval(), mac.n_agents
        self._policy = mac.policy.cpu() if isinstance(mac, PolicyMAC) else None
        self._normalisers: Any = nn.ModuleDict(
            {
                str(i): mac.inputs.normalisers[key]
                for i, key in enumerate(mac.inputs.shapes)
                if key in mac.inputs.normalisers
            }
        ).cpu()
        self.shapes = {key: shape for key, shape in mac.inputs.shapes.items() if key != "others"}
        self.sees_id = bool(mac.args.obs_agent_id) and self.n_agents > 1
        self._constant_id = bool(mac.args.obs_agent_id) and self.n_agents == 1
        self._actions = {path: spec for path, spec in fields.items() if spec.kind == "action"}
        self.branches = [spec.n for spec in self._actions.values() if spec.categorical]
        self.numbers = sum(prod(spec.shape) for spec in self._actions.values() if not spec.categorical)
        self._stochastic = self._policy is not None or mac.agent_output_type == "pi_logits"
        self._repeats = bool(mac.args.obs_last_action)
        self.greedy = greedy or not self._stochastic or self._repeats
        self._bounds = {path: _bounds(spec) for path, spec in self._actions.items() if not spec.categorical}
        self._initial = self._memory_of_network()
        self._sizes = [leaf.numel() for _, leaf in leaves(self._initial)]
        self.memory = sum(self._sizes) + (sum(self.branches) + self.numbers) * self._repeats

    def forward(
        self,
        observations: list[th.Tensor],
        agent: th.Tensor | None = None,
        masks: th.Tensor | None = None,
        memory: th.Tensor | None = None,
        noise: th.Tensor | None = None,
    ) -> Step:
        """Of B agents.

        Args:
            observations: `[B, *shape]` each, as numbers.
            agent: their one-hot numbers `[B, n]`, if the network sees them.
            masks: 1 where a choice is legal, 0 elsewhere, `[B, all choices]`.
            memory: `[B, M]`.
            noise: standard normal numbers for continuous actions, `[B, k]`; None: they are drawn.
        """
        sizes = [*self._sizes, self.memory - sum(self._sizes)]
        parts = [] if memory is None else list(memory.split(sizes, dim=1))
        seen = [x.flatten(1) for x in self._normalised(observations)]
        if self._repeats:
            seen.append(parts[-1])
        if agent is not None:
            seen.append(agent)
        elif self._constant_id:
            seen.append(th.ones_like(seen[0][:, :1]))
        outputs, hidden = self.agent(th.cat(seen, dim=1), self._tree(parts, seen[0]))
        return self._decided(outputs, hidden, masks, noise)

    def _decided(self, outputs: th.Tensor, hidden: Tree, masks: th.Tensor | None, noise: th.Tensor | None) -> Step:
        policy = self._distribution(outputs, masks)
        decided = policy.mode()
        greedy = {path: self._clipped(path, x) for path, x in decided.items()}
        drawn = greedy if self.greedy else {path: self._drawn(path, x, noise) for path, x in policy.branches.items()}
        choices, best = ([x[path].unsqueeze(-1) for path in self._chosen] for x in (drawn, greedy))
        numbers, mean = (
            th.cat([x[path] for path in self._bounds], dim=-1) if self._bounds else None for x in (drawn, greedy)
        )
        remembered = [leaf for _, leaf in leaves(hidden)] if self._sizes else []
        if self._repeats:
            remembered += [
                F.one_hot(decided[path], spec.n).float() if spec.categorical else decided[path]
                for path, spec in self._actions.items()
            ]
        log_probs = [self._log_probs(policy.branches[path]) for path in self._chosen]
        return Step(
            choices,
            best,
            th.cat(log_probs, dim=-1) if log_probs else None,
            numbers,
            mean,
            th.cat([x.flatten(1) for x in remembered], dim=1) if remembered else None,
        )

    @property
    def _chosen(self) -> list[str]:
        return [path for path, spec in self._actions.items() if spec.categorical]

    def _normalised(self, observations: list[th.Tensor]) -> list[th.Tensor]:
        return [
            self._normalisers[str(i)].normalize(x) if str(i) in self._normalisers else x
            for i, x in enumerate(observations)
        ]

    def _tree(self, parts: Any, like: th.Tensor) -> Tree:
        """The memory as the network takes it; initial values for one that ignores it."""
        if not self._sizes:
            return map_tree(lambda x: x.detach().expand(like.size(0), *x.shape[1:]), self.agent.init_hidden())
        left = iter(parts)
        return map_tree(lambda x: next(left).reshape(-1, *x.shape[1:]), self._initial)

    def _memory_of_network(self) -> Tree:
        """Its initial memory, leaves `[1, ...]`; None if what it puts out does not depend on that."""
        initial = map_tree(lambda x: x.detach().clone().requires_grad_(), self.agent.init_hidden())
        if not is_tree(initial):
            return None
        size = sum(map(prod, self.shapes.values())) + (sum(self.branches) + self.numbers) * self._repeats
        size += self.n_agents * (self.sees_id or self._constant_id)
        outputs, _ = self.agent(th.zeros(1, size), initial)
        found = [leaf for _, leaf in leaves(initial)]
        reached = th.autograd.grad(outputs.sum(), found, allow_unused=True) if outputs.requires_grad else [None]
        if all(gradient is None for gradient in reached):
            return None
        if any(bool(leaf.any()) for leaf in found):
            raise ConfigError("The network's memory does not start from zeros, as it does in Unity.")
        return map_tree(th.Tensor.detach, initial)

    def _distribution(self, outputs: th.Tensor, masks: th.Tensor | None) -> Joint:
        """With what is illegal far below everything else."""
        parts = [] if masks is None else list(masks.split(self.branches, dim=1))
        if self._policy is None:
            return Joint({path: Categorical(outputs + (1 - parts[0]) * ILLEGAL) for path in self._chosen})
        logits_of_all = []
        for path, branch in self._policy.branches.items():
            logits = outputs[..., branch.outputs]
            if branch.n is not None:
                legal = parts[self._chosen.index(path)]
                of_yes = logits.size(-1) == 1 and branch.n == 2
                logits = logits + (legal[:, :1] - legal[:, 1:] if of_yes else 1 - legal) * ILLEGAL
            logits_of_all.append(logits)
        return self._policy.of(th.cat(logits_of_all, dim=-1), dict.fromkeys(self._policy.masks))

    def _drawn(self, path: str, branch: Any, noise: th.Tensor | None) -> th.Tensor:
        if path not in self._bounds:
            return th.multinomial(branch.probs, 1).squeeze(-1)
        if isinstance(branch, Deterministic):
            return self._clipped(path, branch.mode())
        if noise is None:
            return self._clipped(path, branch.sample())
        sizes = [len(low) for low, _ in self._bounds.values()]
        units = branch.drawn(dict(zip(self._bounds, noise.split(sizes, dim=1), strict=True))[path])[0]
        return self._clipped(path, branch.centre + branch.scale * units)

    def _log_probs(self, branch: Any) -> th.Tensor:
        """Of each choice, `[B, n]`: of greedy ones, far below zero but for the best."""
        if isinstance(branch, Categorical):
            log_probs = branch.log_probs
        else:
            log_probs = th.cat(
                [F.logsigmoid(-branch.logit).unsqueeze(-1), F.logsigmoid(branch.logit).unsqueeze(-1)], -1
            )
        return (log_probs - log_probs.amax(dim=-1, keepdim=True)) * -ILLEGAL if self.greedy else log_probs

    def _clipped(self, path: str, actions: th.Tensor) -> th.Tensor:
        """Continuous actions within their bounds, as environments get them."""
        if path not in self._bounds:
            return actions
        low, high = self._bounds[path]
        if low.min() == low.max() and high.min() == high.max():
            finite = [float(x[0]) if np.isfinite(x[0]) else None for x in (low, high)]
            return actions if finite == [None, None] else actions.clamp(*finite)
        return th.min(th.max(actions, th.from_numpy(low)), th.from_numpy(high))


def _bounds(spec: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each number of a continuous action, `[k]`; infinite where there is none."""
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    of_each = lambda bound: np.broadcast_to(np.asarray(bound, np.float32), spec.shape).reshape(-1).copy()  # noqa: E731
    return of_each(low), of_each(high)


def _require_supported(mac: Any, fields: Mapping[str, Any]) -> None:
    if type(mac) not in (BasicMAC, PolicyMAC, ActorMAC):
        raise ConfigError(
            f"The controller {type(mac).__name__} cannot be exported. Those whose networks see one agent's "
            "observations can: mac=basic_mac, policy_mac and actor_mac."
        )
    if getattr(mac.agent, "takes_parts", False):
        raise ConfigError(
            f"agent={mac.args.agent} cannot be exported: it sees pictures or entities part by part. Networks that see "
            "numbers can: agent=ff, rnn, rnn_layernorm and lstm."
        )
    if isinstance(mac.agent, CommunicatingAgent):
        raise ConfigError(f"agent={mac.args.agent} cannot be exported: its agents hear each other. Use agent=rnn.")
    if not mac.args.share_params:
        raise ConfigError("share_params=False cannot be exported: each agent has weights of its own.")
    if mac.inputs.sees_others:
        raise ConfigError("obs_mean_action=True cannot be exported: agents see what the others did.")
    if mac._agent_axis:
        raise ConfigError(f"agent={mac.args.agent} cannot be exported: it computes all agents of a team together.")
    for path, spec in fields.items():
        if path in mac.inputs.shapes and (spec.capacity is not None or spec.dtype == "uint8"):
            what = "a picture of bytes" if spec.capacity is None else "of any number of rows"
            raise ConfigError(f"The observation '{path}' is {what}, which cannot be exported; numbers can.")
