"""Values of agents' actions, each for itself or mixed to the team's by mixers that see what their entries declare."""

from typing import Any

import torch as th
import torch.nn.functional as F

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_targets import gather_actions, legal_values, masked_mean, mix, values_of_present
from modules.mixers import REGISTRY


class Mixing:
    """How a learner calls mixers of one kind: with values and states, and with what the trait `sees` names.

    A mixer of the kind "chosen_values" is a function of the agents' values `[B, T, n]` and of states `[B, T, S]`. One
    of the kind "choices" gets more, as further arguments in the order of its trait `sees`:

    - "actions": the actions that were valued, one-hot, `[B, T, n, A]`;
    - "greedy_qvals": each agent's largest value of a legal action by the same network, `[B, T, n]`, without gradient;
    - "obs": what the agents observe, `[B, T, n, O]`;
    - "noise": the latent variable of the episode, `[B, T, Z]` (MAVEN);
    - "memory": the agents' memories after each step, a tensor `[B, T, n, H]`, without gradient (TransfQMIX).

    One of the trait `recurrent` gets all steps of episodes up to the last that is asked for.

    Args:
        name: of the mixer in the registry; None: there is none, or its traits are given.

    Attributes:
        sees: that trait.
    """

    def __init__(self, learner: Any, name: str | None, **traits: Any):
        self._learner = learner
        traits = traits if name is None else {**REGISTRY.entry(name).traits, **traits}
        # a mixer that looks at one step at a time needs no padding either
        self._stepwise, self._recurrent = traits.get("stepwise", False), traits.get("recurrent", False)
        self._regularised = traits.get("regularised", False)
        self.sees: tuple[str, ...] = tuple(traits.get("sees", ()))
        self._seen = [getattr(self, f"_{key}") for key in self.sees if key != "memory"]

    def __call__(self, mixer: Any, unroll: BatchUnroll, part: slice, actions: th.Tensor, qvals: th.Tensor) -> th.Tensor:
        """The value of actions at the time steps `part`: the team's, `[B, part, 1]`; without a mixer `[B, part, n]`.

        Args:
            mixer: a network, or None.
            actions: `[*steps, n, 1]`.
            qvals: of all actions, `[*steps, n, A]`.
        """
        values = gather_actions(qvals, actions)
        if mixer is None:
            return unroll.spread(values)[:, part]
        seen = [values_of_present(values, unroll), *(see(unroll, actions, qvals) for see in self._seen)]
        if "memory" in self.sees:
            seen.append(self._memory(mixer, unroll))
        state = unroll.batch["state"]
        if self._stepwise and unroll.packed:
            agent_qs, *others = (x.unsqueeze(0) for x in seen)
            mixed = mix(self._learner, mixer, agent_qs, unroll.take(state).unsqueeze(0), *others)
            return unroll.spread(mixed.squeeze(0))[:, part]
        # contiguous, because PyMARL's mixers look at it as a view of another shape
        steps = slice(None, part.stop) if self._recurrent else part
        agent_qs, *others = (unroll.spread(x)[:, steps].contiguous() for x in seen)
        mixed = mix(self._learner, mixer, agent_qs, state[:, steps], *others)
        return mixed[:, part.start :] if self._recurrent else mixed

    def _memory(self, mixer: Any, unroll: BatchUnroll) -> th.Tensor:
        """That of the controller whose values this mixer mixes."""
        mac = self._learner.target_mac if mixer is self._learner.target_mixer else self._learner.mac
        memory = unroll.memory_of(mac).detach().float()
        if "present" in unroll.batch.scheme:
            memory = memory * unroll.take(unroll.batch["present"])
        return memory

    def regulariser(self, mixer: Any, unroll: BatchUnroll, mask: th.Tensor) -> th.Tensor | float:
        """What the mixer adds to the loss where `mask`, `[B, T - 1, 1]`, is 1; most add nothing."""
        if not self._regularised:
            return 0.0
        before_last = (unroll.batch[key][:, :-1] for key in ("state", "obs"))
        found = self._learner._forward(mixer.regulariser, *before_last)
        return found.mean() if mixer.regularises_padding else masked_mean(found, mask)

    def statistics(
        self, unroll: BatchUnroll, actions: th.Tensor, qvals: th.Tensor, mask: th.Tensor
    ) -> dict[str, Figure]:
        """Of mixers that see the best values: how often what was done is best, as PyMARL2 logs it."""
        if "greedy_qvals" not in self.sees:
            return {}
        greedy = legal_values(qvals, unroll.avail_actions).argmax(dim=-1, keepdim=True)
        hits = (greedy == actions).float().mean(dim=-2)
        return {"hit_prob": figure(masked_mean(unroll.spread(hits)[:, :-1], mask))}

    @staticmethod
    def _actions(unroll: BatchUnroll, actions: th.Tensor, qvals: th.Tensor) -> th.Tensor:
        return F.one_hot(actions.squeeze(-1), qvals.size(-1)).to(qvals.dtype)

    @staticmethod
    def _greedy_qvals(unroll: BatchUnroll, actions: th.Tensor, qvals: th.Tensor) -> th.Tensor:
        return values_of_present(legal_values(qvals.detach(), unroll.avail_actions).amax(dim=-1), unroll)

    @staticmethod
    def _obs(unroll: BatchUnroll, actions: th.Tensor, qvals: th.Tensor) -> th.Tensor:
        return unroll.take(unroll.batch["obs"])

    @staticmethod
    def _noise(unroll: BatchUnroll, actions: th.Tensor, qvals: th.Tensor) -> th.Tensor:
        return unroll.take(unroll.batch["noise"])
