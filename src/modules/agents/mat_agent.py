"""Transformers over a team's agents: MAT and MAT-Dec (Wen et al. 2022, section 4 and its figure 2)."""

from collections.abc import Mapping
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.attention import attention_weights
from modules.initialisation import RELU_GAIN, orthogonal_layer
from utils.config.merging import with_defaults
from utils.errors import ConfigError

# of layers that no activation follows
SMALL_GAIN = 0.01
# keys and values of the agents before, by the layer of attention that made them
Memory = dict[nn.Module, tuple[th.Tensor, th.Tensor]]


class MATDecAgent(nn.Module):
    """What all agents see -> an encoder of the team -> values; what each sees alone -> its outputs (MAT-Dec).

    Shapes: R time steps, n agents, I numbers that each sees, A outputs, D = `n_embd`.

    Args:
        input_shape: of each part of an agent's inputs, by name.
        args: `n_actions`, which is A + 1, and the options of its registry entry.
        action_size: K, the numbers of an agent's action as another one sees it.
    """

    # actions of a team depend on those of the agents before
    in_turn = False
    # its values depend on the actions of the others in the same step, where these are known
    values_see_actions = False
    # for controllers: inputs come by parts, and all steps of a batch at once
    takes_parts = supports_packing = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any, action_size: int):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size, inputs = args.n_embd, sum(map(prod, input_shape.values()))
        # of the actions of all agents that the encoder sees
        self._of_actions = args.n_agents * action_size if self.values_see_actions else 0
        encoded = inputs + self._of_actions
        self.obs_encoder = nn.Sequential(nn.LayerNorm(encoded), linear_layer(encoded, size, True), nn.GELU())
        self.encoder_norm = nn.LayerNorm(size)
        self.encoder = nn.ModuleList(self._encoder_block(size, args.n_head) for _ in range(args.n_block))
        self.value_head = head(size, 1)
        self._build_decoder(inputs, action_size, args.n_actions - 1)

    def _encoder_block(self, size: int, heads: int) -> nn.Module:
        return EncoderBlock(size, heads)

    def _build_decoder(self, inputs: int, action_size: int, outputs: int) -> None:
        size = self.args.n_embd
        first = nn.LayerNorm(inputs), linear_layer(inputs, size, True), nn.GELU(), nn.LayerNorm(size)
        self.decoder = nn.Sequential(*first, *head(size, outputs))

    def forward(self, seen: th.Tensor, before: th.Tensor | None = None) -> th.Tensor:
        """Outputs of all agents, and values behind them: `[R, n, A + 1]`.

        Args:
            seen: by each agent, `[R, n, I]`.
            before: what each knows of the agent before it, `[R, n, 1 + K]`: 1 and zeros for the first agent, 0 and the
                action for others.
        """
        links = self.links()
        encoded = self.encode(seen, links)
        return th.cat([self.decode(seen, encoded, before, links=links), self.value_head(encoded)], dim=-1)

    def links(self) -> th.Tensor | None:
        """Whom each agent attends to, 0 or 1, `[n, n]`; None: to all."""
        return None

    def encode(self, seen: th.Tensor, links: th.Tensor | None = None) -> th.Tensor:
        """What the team sees, by agent: `[R, n, D]`. `links`: None: as `links()` says."""
        links = self.links() if links is None else links
        x = self.encoder_norm(self.obs_encoder(seen))
        for block in self.encoder:
            x = block(x, links)
        return x

    def decode(
        self,
        seen: th.Tensor,
        encoded: th.Tensor,
        before: th.Tensor | None,
        memory: Memory | None = None,
        links: th.Tensor | None = None,
    ) -> th.Tensor:
        """Outputs `[R, n, A]`; with a `memory` of the agents before, of the next one, `[R, 1, A]`, which it notes."""
        return self.decoder(seen)


class MATDecActionsAgent(MATDecAgent):
    """The same, whose encoder sees what all others do in the same step, too: zeros in acting (PyMARLzoo+'s mistake)."""

    values_see_actions = True

    def forward(self, seen: th.Tensor, actions: th.Tensor | None = None) -> th.Tensor:
        """`actions`: of all agents, `[R, n, K]`; None: they are not known."""
        encoded = self.encode(seen, actions=actions)
        return th.cat([self.decode(seen, encoded, None), self.value_head(encoded)], dim=-1)

    def encode(self, seen: th.Tensor, links: th.Tensor | None = None, actions: th.Tensor | None = None) -> th.Tensor:
        if actions is None:
            others = seen.new_zeros(*seen.shape[:2], self._of_actions)
        else:
            not_own = 1 - th.eye(seen.size(1), device=seen.device)
            others = (actions.unsqueeze(1) * not_own.unsqueeze(-1)).flatten(2)
        return super().encode(th.cat([seen, others], dim=2), links)


class MATAgent(MATDecAgent):
    """The same encoder; a decoder gives the outputs of each agent by what the agents before it have done (MAT, eq. 5).

    In learning, all agents are computed at once, each behind a mask that hides the agents after it. In acting, one
    follows the other, and keys and values of those before are kept.
    """

    in_turn = True

    def _build_decoder(self, inputs: int, action_size: int, outputs: int) -> None:
        size = self.args.n_embd
        self.action_encoder = nn.Sequential(linear_layer(1 + action_size, size, True, bias=False), nn.GELU())
        self.decoder_norm = nn.LayerNorm(size)
        self.blocks = nn.ModuleList(DecoderBlock(size, self.args.n_head) for _ in range(self.args.n_block))
        self.head = head(size, outputs)

    def decode(
        self,
        seen: th.Tensor,
        encoded: th.Tensor,
        before: th.Tensor | None,
        memory: Memory | None = None,
        links: th.Tensor | None = None,
    ) -> th.Tensor:
        links = self.links() if links is None else links
        x = self.decoder_norm(self.action_encoder(before))
        for block in self.blocks:
            x = block(x, encoded, memory, links)
        return self.head(x)


class EncoderBlock(nn.Module):
    """Attention of all agents to each other, and two layers; what comes of either is added and normalised."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.attention, self.mlp = Attention(size, heads), _mlp(size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x: th.Tensor, links: th.Tensor | None = None) -> th.Tensor:
        x = self.norm1(x + self.attention(x, x, links=links))
        return self.norm2(x + self.mlp(x))


class DecoderBlock(nn.Module):
    """Attention to the actions before, attention of what the encoder says to these, and two layers."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.attention1, self.attention2, self.mlp = Attention(size, heads), Attention(size, heads), _mlp(size)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(size) for _ in range(3))

    def forward(
        self, x: th.Tensor, encoded: th.Tensor, memory: Memory | None, links: th.Tensor | None = None
    ) -> th.Tensor:
        causal = memory is None
        x = self.norm1(x + self.attention1(x, x, causal, memory, links))
        x = self.norm2(encoded + self.attention2(encoded, x, causal, memory, links))
        return self.norm3(x + self.mlp(x))


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017) between the agents of a time step, `[R, n, D]`."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.key, self.query, self.value, self.proj = (linear_layer(size, size) for _ in range(4))

    def forward(
        self,
        asking: th.Tensor,
        seen: th.Tensor,
        causal: bool = False,
        memory: Memory | None = None,
        links: th.Tensor | None = None,
    ) -> th.Tensor:
        """What each agent of `asking` finds in `seen`: with `causal`, in agents up to its own place.

        Args:
            memory: keys and values of agents before those of `seen`, which are added to it.
            links: whom each agent of the team attends to, 0 or 1, `[n, n]`; None: to all.
        """
        query, key, value = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer, x in ((self.query, asking), (self.key, seen), (self.value, seen))
        )
        if memory is not None:
            if self in memory:
                key, value = (th.cat(pair, dim=2) for pair in zip(memory[self], (key, value), strict=True))
            memory[self] = key, value
        if links is None:
            found = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        else:
            last = key.size(2)
            links = links[last - query.size(2) : last, :last]
            products = query @ key.mT / query.size(-1) ** 0.5
            found = attention_weights(products, links.tril() if causal else links) @ value
        return self.proj(found.transpose(1, 2).flatten(2))


def check(config: Mapping[str, Any]) -> None:
    """Refuse what a transformer over agents cannot be; the trait `check` of the agents.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if config["n_embd"] % config["n_head"]:
        raise ConfigError(f"n_embd={config['n_embd']} is not a multiple of n_head={config['n_head']}.")
    if not config["share_params"]:
        raise ConfigError(f"agent={config['agent']} is one network for the whole team. Use share_params=True.")


def linear_layer(inputs: int, outputs: int, activated: bool = False, bias: bool = True) -> nn.Linear:
    """A linear layer, and whether an activation follows it."""
    layer = nn.Linear(inputs, outputs, bias)
    orthogonal_layer(layer, RELU_GAIN if activated else SMALL_GAIN)
    return layer


def _mlp(size: int) -> nn.Sequential:
    return nn.Sequential(linear_layer(size, size, True), nn.GELU(), linear_layer(size, size))


def head(size: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(linear_layer(size, size, True), nn.GELU(), nn.LayerNorm(size), linear_layer(size, outputs))
