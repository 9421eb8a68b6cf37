"""Messages between the agents of a team: what they send, the exchange, and networks that act on what they hear.

One seam for all algorithms: a controller gives a network the rows of all agents, those of a team side by side (row
b * n + i is agent i's), and a `CommunicatingAgent` is a network that passes messages between them. Learners and
controllers do not know of it, so that every one of them takes it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch as th

from modules.agents.agent import Agent
from modules.attention import attention_weights
from utils.errors import ConfigError


class Message(NamedTuple):
    """What each of N = B * n agents sends, and whom it listens to.

    Attributes:
        values: what is sent, `[N, V]`; with `heads`, V / heads numbers by each.
        keys, queries: signatures of what is sent and of what is wanted, `[N, heads * K]`: an agent listens to the
            others by the softmax of their products / sqrt(K). None: to all alike.
        gates: the share of a message that is sent, 0 to 1, `[N, 1]`; None: all of it.
        links: who can hear whom, 0 or 1, `[n, n]` (receiver, sender); None: all.
        heads: of attention.
    """

    values: th.Tensor
    keys: th.Tensor | None = None
    queries: th.Tensor | None = None
    gates: th.Tensor | None = None
    links: th.Tensor | None = None
    heads: int = 1


def exchange(message: Message, n_agents: int, own: bool = False) -> th.Tensor:
    """What each agent hears, `[N, V]`: the mean of the messages of its team, by weights that add up to 1.

    Args:
        message: of all agents.
        n_agents: n, of a team.
        own: whether agents hear themselves. A team of one hears nothing then: zeros.
    """
    sent = message.values if message.gates is None else message.values * message.gates
    sent = _by_head(sent, n_agents, message.heads)
    links = sent.new_ones(n_agents, n_agents) if message.links is None else message.links
    if not own:
        links = links * (1 - th.eye(n_agents, device=sent.device, dtype=links.dtype))
    if message.keys is None or message.queries is None:
        weights = (links / links.sum(-1, keepdim=True).clamp(min=1e-8)).expand(sent.size(0), 1, -1, -1)
    else:
        keys, queries = (_by_head(x, n_agents, message.heads) for x in (message.keys, message.queries))
        weights = attention_weights(queries @ keys.mT / keys.size(-1) ** 0.5, links)
    return (weights @ sent).transpose(1, 2).reshape(message.values.shape)


def check_heads(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: a message of `comm_dim` numbers does not divide into `comm_heads` parts."""
    if config["comm_dim"] % config["comm_heads"]:
        raise ConfigError(
            f"comm_dim={config['comm_dim']} does not divide into comm_heads={config['comm_heads']} equal parts. Use a "
            "multiple."
        )


def _by_head(rows: th.Tensor, n_agents: int, heads: int) -> th.Tensor:
    """`[B * n, heads * F]` -> `[B, heads, n, F]`."""
    return rows.reshape(-1, n_agents, heads, rows.size(-1) // heads).transpose(1, 2)


class CommunicatingAgent(Agent):
    """A network whose agents hear each other at each step: `step`, which calls `exchange`.

    Args:
        args: `n_agents`, the number of agents of a team.
    """

    def __init__(self, args: Any):
        super().__init__()
        self.n_agents = args.n_agents

    def exchange(self, message: Message, own: bool = False) -> th.Tensor:
        """What each agent hears of its team, `[N, V]`."""
        return exchange(message, self.n_agents, own)

    def step(self, encoded: th.Tensor, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """One step of N agents: what `encode` made of their inputs, and memories `[N, M]`.

        Returns:
            outputs `[N, A]` and the memories after the step.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and memories `[P, M]`; memories depend on messages, so steps follow one another."""
        hidden = hidden_state.reshape(-1, hidden_state.size(-1))
        outputs, states = [], []
        for x in encoded.split(sizes):
            of_step, hidden = self.step(x, hidden[: len(x)])
            outputs.append(of_step)
            states.append(hidden)
        return th.cat(outputs), th.cat(states)
