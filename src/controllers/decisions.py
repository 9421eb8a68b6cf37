"""The decision of a controller at one step: the actions and their extras."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.one_copy import received
from controllers.contract import controller
from controllers.hidden_states import memory_fields, reset_where
from envs.contract.groups import BEGINS, PRESENT
from modules.policies.distributions import Joint
from utils.errors import ConfigError
from utils.rl_utils import categorical_entropy
from utils.tensors.schemes import AGENTS, MEMORY
from utils.tensors.tensor_trees import is_tree

Extra = th.Tensor | Callable[[], th.Tensor]


@dataclass
class Decision:
    """Actions of all agents of some episodes, a row for each, and their extras.

    `actions`: branch -> whole numbers `[rows, n]`, or floats `[rows, n, k]`; by default one branch, "actions".
    `extras`: name -> tensor `[rows, n, ...]`, or a function without arguments that computes it on demand. Built-in
    controllers offer, as far as they can: "q_values" or "policy" (the network's outputs),
    "probs" (of each action when it is chosen), "log_prob" and "entropy" of these, and "greedy" (1 where the action is
    the best legal one; Linesight's "action_was_greedy" is the same).
    """

    actions: dict[str, th.Tensor]
    extras: Mapping[str, Extra] = field(default_factory=dict)

    @classmethod
    def of(cls, returned: Any) -> "Decision":
        """From the value of PyMARL's `select_actions` or `select_action`.

        That is the actions, or the actions and their extras: a mapping from names to tensors or, as PyMARL2's
        selectors return it, one tensor, which is "probs".
        """
        if isinstance(returned, th.Tensor):
            return cls({"actions": returned})
        actions, offered = returned if isinstance(returned, tuple) else (returned, {})
        actions = dict(actions) if isinstance(actions, Mapping) else {"actions": actions}
        return cls(actions, dict(offered) if isinstance(offered, Mapping) else {"probs": offered})

    def extra(self, name: str) -> Any:
        """The extra of this name, a tensor; None: it is not offered."""
        value = self.extras.get(name)
        return value() if callable(value) else value

    def rows(self, rows: Sequence[int]) -> "Decision":
        """The decisions of these rows; extras that are computed are computed now."""
        extras = {name: extra[rows] for name in self.extras if (extra := self.extra(name)) is not None}
        return Decision({branch: values[rows] for branch, values in self.actions.items()}, extras)


def extras_of_choice(outputs: th.Tensor, avail_actions: th.Tensor, chosen: th.Tensor, probs: Extra | None) -> dict:
    """Extras of a choice between legal actions.

    Args:
        outputs: of the network, larger where it prefers, `[rows, n, A]`.
        avail_actions: `[rows, n, A]`.
        chosen: `[rows, n]`.
        probs: of each action when it was chosen, `[rows, n, A]`; None if unknown.
    """
    # computed when asked for: most runs ask for none of them
    greedy = lambda: _is_best(outputs, avail_actions, chosen.unsqueeze(-1))  # noqa: E731
    extras: dict[str, Extra] = {"greedy": greedy, "action_was_greedy": greedy}
    if probs is not None:
        policy = cache(probs) if callable(probs) else lambda: probs
        extras["probs"] = policy
        extras["log_prob"] = lambda: policy().gather(-1, chosen.unsqueeze(-1)).log()
        extras["entropy"] = lambda: categorical_entropy(policy()).unsqueeze(-1)
    return extras


def extras_of_policy(policy: Joint, actions: Any) -> dict[str, Extra]:
    """Extras of actions `[rows, n, ...]` drawn from a distribution, each `[rows, n, 1]`."""
    return {
        "log_prob": lambda: policy.log_prob(actions).unsqueeze(-1),
        "entropy": lambda: policy.entropy().unsqueeze(-1),
    }


def best_of(outputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
    """The legal actions with the largest outputs, `[rows, n]` of `[rows, n, A]`."""
    return outputs.masked_fill(avail_actions == 0, -th.inf).argmax(dim=-1)


def _is_best(outputs: th.Tensor, avail_actions: th.Tensor, index: th.Tensor) -> th.Tensor:
    legal = outputs.masked_fill(avail_actions == 0, -th.inf)
    return legal.gather(-1, index) == legal.amax(dim=-1, keepdim=True)


class Decider:
    """Asks any controller for its decisions at one step of a batch, and brings them into the form of batch fields.

    A controller that declares `supports_decide` has `decide(batch, t, t_env, rows, test_mode) -> Decision`. Any other
    one has PyMARL's `select_actions`, with or without the argument `bs` (`Decision.of` lists its return values).

    Args:
        mac: the controller.
        batch: it acts on; a scheme's entry with `"decision": True` is a field that comes with the actions.
        listener: gets each decision, the batch and the step before it is carried out.
    """

    def __init__(
        self, mac: Any, batch: EpisodeBatch, listener: Callable[[Decision, EpisodeBatch, int], None] | None = None
    ):
        self._mac, self._batch, self._listener = controller(mac), batch, listener
        self._names = f"mac={type(mac).__name__} with action_selector={type(self._mac.action_selector).__name__}"
        self._decides = self._mac.supports_decide
        if not self._decides:
            parameters = inspect.signature(mac.select_actions).parameters
            self._takes_rows = "bs" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self._fields = [key for key, info in batch.scheme.items() if info.get("decision")]
        self._streams = BEGINS in batch.scheme
        self._keeps_memory = any(key == MEMORY or key.startswith(f"{MEMORY}/") for key in self._fields)

    def decide(self, t: int, t_env: int, rows: np.ndarray | None = None, test_mode: bool = False) -> dict:
        """Decisions at step `t` of the episodes `rows` (ascending; None: all): field -> array `[len(rows), n, ...]`.

        "actions" is int64 `[len(rows), n, 1]`.

        Raises:
            ConfigError: the controller does not offer a field that the batch has for it.
        """
        decision = self.ask(t, t_env, slice(None) if rows is None else rows.tolist(), test_mode)
        if self._listener is not None:
            self._listener(decision, self._batch, t)
        values = {branch: self._as_field(branch, chosen) for branch, chosen in decision.actions.items()}
        values |= {key: self._offered(key, decision) for key in self._fields}
        return dict(zip(values, received(list(values.values())), strict=True))

    def ask(self, t: int, t_env: int, rows: Sequence[int] | slice, test_mode: bool) -> Decision:
        """The controller's decisions at step `t` of the episodes `rows`; of batches that keep it, with its memory."""
        if self._streams:
            with own_memories(self._mac, self._batch, t):
                decision = self._asked(t, t_env, rows, test_mode)
        else:
            decision = self._asked(t, t_env, rows, test_mode)
        if self._keeps_memory:
            batch = self._batch
            memory = memory_fields(self._mac.hidden_states, batch.batch_size, batch.groups[AGENTS])
            decision.extras = {**decision.extras, **{key: leaf[rows] for key, leaf in memory.items()}}
        return decision

    def _asked(self, t: int, t_env: int, rows: Sequence[int] | slice, test_mode: bool) -> Decision:
        if self._decides:
            return self._mac.decide(self._batch, t, t_env, rows, test_mode)
        bs = {"bs": rows} if self._takes_rows else {}
        returned = self._mac.select_actions(self._batch, t_ep=t, t_env=t_env, **bs, test_mode=test_mode)
        decision = Decision.of(returned)
        return decision if self._takes_rows or isinstance(rows, slice) else decision.rows(rows)

    def _as_field(self, branch: str, chosen: th.Tensor) -> th.Tensor:
        chosen = chosen.to(self._batch.scheme[branch].get("dtype", th.float32))
        return chosen.unsqueeze(-1) if chosen.dim() == 2 else chosen

    def _offered(self, key: str, decision: Decision) -> th.Tensor:
        value = decision.extra(key)
        if value is not None:
            return value
        raise ConfigError(
            f"The learner needs the batch field '{key}', which {self._names} does not offer; it offers "
            f"{', '.join(decision.extras) or 'actions only'}. See docs/own_learner.md, 'Additional fields'."
        )


@contextlib.contextmanager
def own_memories(mac: Any, batch: EpisodeBatch, t: int) -> Iterator[None]:
    """While `mac` decides at step `t`: who begins there starts without memory, and who does not ask keeps its own.

    Args:
        mac: a `Controller`; nothing happens to one without memory.
        batch: B episodes of n agents with the fields `begins` and `present`.
        t: the step.
    """
    hidden = mac.hidden_states
    if not is_tree(hidden):
        yield
        return
    begins = batch[BEGINS][:, t].bool().squeeze(2)
    if begins.any():
        mac.init_hidden(batch.batch_size)
        hidden = reset_where(begins, hidden, mac.hidden_states)
    mac.hidden_states = hidden
    yield
    silent = ~batch[PRESENT][:, t].bool().squeeze(2)
    mac.hidden_states = reset_where(silent, mac.hidden_states, hidden)
