"""The action selectors that come with Muster (registry: `components.action_selectors`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th
from torch.distributions import Categorical

from components.action_selectors import REGISTRY
from components.decision_fields import EXPLORES_FOR
from components.epsilon_schedules import DecayThenFlatSchedule
from utils.config.merging import with_defaults
from utils.numbers.schedules import Schedule
from utils.rl_utils import legal_policy
from utils.tensors.devices import to_device


class Exploring:
    """A selector whose exploration rate `epsilon` follows the step count."""

    def __init__(self, args):
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.schedule = self._schedule()
        self.epsilon = self.schedule.eval(0)

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed (`experiment.live`)."""
        if key.startswith("epsilon"):
            self.schedule = self._schedule()

    def anneal(self, t_env: int) -> None:
        """Set `epsilon` for step `t_env`; a MAC whose forward pass reads it calls this first."""
        self.epsilon = self.schedule.eval(t_env)

    def _schedule(self) -> Any:
        args = self.args
        if args.epsilon is not None:
            return Schedule.of(args.epsilon)
        return DecayThenFlatSchedule(
            args.epsilon_start, args.epsilon_finish, args.epsilon_anneal_time, decay=args.epsilon_decay
        )


class EpsilonGreedyActionSelector(Exploring):
    """The best legal action, or with probability epsilon a random legal one; in tests, `evaluation_epsilon` is it."""

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        return self._drawn(agent_inputs, avail_actions, t_env, test_mode)[0]

    def _drawn(
        self, values: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool
    ) -> tuple[th.Tensor, th.Tensor | None]:
        """The actions, and who explores, bool `[B, n_agents]`; None: nobody."""
        if test_mode:
            self.epsilon = self.args.evaluation_epsilon
        else:
            self.anneal(t_env)
        explores = not test_mode or self.epsilon > 0
        if values.device.type == "cpu" and values.dtype is th.float32:
            return self._drawn_by_numpy(values.detach().numpy(), avail_actions.numpy() != 0, explores)
        greedy = values.masked_fill(avail_actions == 0, -float("inf")).argmax(dim=2)
        if not explores:
            return greedy, None
        explore = th.rand_like(values[:, :, 0]) < self.epsilon
        # a uniform choice of the legal ones, as by th.multinomial, without its checks, which wait for a GPU
        legal = avail_actions.to(values.dtype)
        at_random = (legal / th.empty_like(legal).exponential_()).argmax(dim=2)
        return th.where(explore, at_random, greedy), explore

    def _drawn_by_numpy(
        self, values: np.ndarray, legal: np.ndarray, explores: bool
    ) -> tuple[th.Tensor, th.Tensor | None]:
        """The same by the same random numbers, in about half of the time."""
        greedy = np.where(legal, values, -np.float32(np.inf)).argmax(axis=2)
        if not explores:
            return th.from_numpy(greedy), None
        explore = th.rand(greedy.shape) < self.epsilon
        # torch makes each exponential number of such a one, and the order of the two is the same
        arrivals = th.rand(values.shape, dtype=th.float64).numpy()
        at_random = np.where(legal, arrivals, 2.0).argmin(axis=2)
        return th.from_numpy(np.where(explore.numpy(), at_random, greedy)), explore


class EZGreedySelector(EpsilonGreedyActionSelector):
    """Temporally extended epsilon-greedy exploration (Dabney et al. 2021, algorithm 1), each agent for itself.

    An agent that does not repeat takes the best legal action or, with probability epsilon, a random legal one, which it
    then repeats, n steps in all, as long as it is legal; n is zeta-distributed, up to `explore_longest`. Tests do not
    repeat.
    """

    def __init__(self, args):
        super().__init__(args)
        shares = th.arange(1, self.args.explore_longest + 1, dtype=th.float64) ** -self.args.explore_exponent
        # entry i: the probability that it lasts at most i + 1 steps
        self._lasts = (shares.cumsum(0) / shares.sum()).float()
        # of the last choice, by field: for how many more steps each agent repeats its action, int64 `[B, n_agents]`
        self.remembered: dict[str, th.Tensor] = {}

    def select_action(
        self,
        agent_inputs: th.Tensor,
        avail_actions: th.Tensor,
        t_env: int,
        test_mode: bool = False,
        before: Mapping[str, th.Tensor] | None = None,
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`.

        `before`: "actions" and "explores_for" of the step before, `[B, n_agents]` each; None: nobody repeats.
        """
        chosen, explore = self._drawn(agent_inputs, avail_actions, t_env, test_mode)
        nothing = th.zeros_like(chosen)
        self.remembered = {EXPLORES_FOR: nothing}
        if test_mode or explore is None:
            return chosen
        last, left = (nothing, nothing) if before is None else (before["actions"], before[EXPLORES_FOR].long())
        repeats = (left > 0) & (avail_actions.gather(2, last.unsqueeze(2)).squeeze(2) > 0)
        numbers = th.rand(chosen.shape, device=chosen.device)
        self._lasts = to_device(self._lasts, chosen.device)
        more = th.searchsorted(self._lasts, numbers).clamp(max=len(self._lasts) - 1)
        self.remembered = {EXPLORES_FOR: th.where(repeats, left - 1, th.where(explore, more, nothing))}
        return th.where(repeats, last, chosen)


class EpsilonBoltzmannSelector(EpsilonGreedyActionSelector):
    """With probability epsilon a random legal action; else, with probability `epsilon_boltzmann`, the best one by
    values with Gaussian noise; else the best one (Linesight). Tests are without noise.

    With `boltzmann_of: all`, noise decides a share `epsilon_boltzmann` of all actions, not only of those that are not
    random.

    Its author calls it so; the noise is not Boltzmann's.
    """

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        if not test_mode:
            share = Schedule.of(self.args.epsilon_boltzmann).eval(t_env)
            if self.args.boltzmann_of == "all":
                self.anneal(t_env)
                share = share / (1 - self.epsilon) if self.epsilon < 1 else 0.0
            noisy = th.rand_like(agent_inputs[:, :, :1]) < share
            noise = self.args.boltzmann_noise * th.randn_like(agent_inputs)
            agent_inputs = th.where(noisy, agent_inputs + noise, agent_inputs)
        return super().select_action(agent_inputs, avail_actions, t_env, test_mode)


class BoltzmannSelector:
    """A sample of softmax(values / `boltzmann_temperature`) among the legal actions; in tests the best one."""

    def __init__(self, args):
        self.args = with_defaults(args, REGISTRY.defaults_of(type(self)))

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        values = agent_inputs.masked_fill(avail_actions == 0, -float("inf"))
        if not test_mode:
            # with Gumbel's numbers added, the largest is a sample of the softmax
            values = values / Schedule.of(self.args.boltzmann_temperature).eval(t_env)
            values = values - th.empty_like(values).exponential_().log()
        return values.argmax(dim=2)


class MultinomialActionSelector(Exploring):
    """A sample of the policy (whose epsilon floor the MAC adds); tests are greedy if `test_greedy`.

    With `epsilon_in` "acting" or "both", random legal actions are mixed in here, in training.
    """

    # the share of random actions in the last choice, beside those in the policy
    _noise = 0.0

    def __init__(self, args):
        super().__init__(args)
        self.test_greedy = self.args.test_greedy
        self.anneal(0)

    def anneal(self, t_env: int) -> None:
        super().anneal(t_env)
        self._rate = 0.0 if self.args.epsilon_in == "policy" else self.epsilon
        if self.args.epsilon_in == "acting":
            self.epsilon = 0.0

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Probabilities and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        self.anneal(t_env)
        self._noise = 0.0 if test_mode else self._rate
        probabilities = self.probabilities(agent_inputs, avail_actions) if self._noise else agent_inputs
        return _sample(probabilities, avail_actions, greedy=test_mode and self.test_greedy)

    def probabilities(self, agent_inputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
        """The probability of each action when it is sampled, `[B, n_agents, n_actions]`."""
        policy = legal_policy(agent_inputs, avail_actions)
        if not self._noise:
            return policy
        legal = avail_actions.to(policy.dtype)
        return (1 - self._noise) * policy + self._noise * legal / legal.sum(-1, keepdim=True).clamp(min=1)


class SoftPoliciesSelector:
    """A sample of the policy as it is, with no epsilon floor (EPyMARL's `soft_policies`)."""

    def __init__(self, args):
        self.args = with_defaults(args)
        self.test_greedy = self.args.test_greedy

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Probabilities and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        return _sample(agent_inputs, avail_actions, greedy=test_mode and self.test_greedy)

    def probabilities(self, agent_inputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
        """The probability of each action when it is sampled, `[B, n_agents, n_actions]`."""
        return legal_policy(agent_inputs, avail_actions)


class GumbelSelector(SoftPoliciesSelector):
    """`SoftPoliciesSelector` under PyMARL2's name: with Gumbel noise on logits, the largest is a sample of their
    softmax (Gumbel 1954), which is drawn from here."""


def _sample(probabilities: th.Tensor, avail_actions: th.Tensor, greedy: bool) -> th.Tensor:
    legal = probabilities.masked_fill(avail_actions == 0, 0.0)
    return legal.argmax(dim=2) if greedy else Categorical(legal, validate_args=False).sample()
