"""A transformer over entities whose memory is one of its tokens (UPDeT, Hu et al. 2021)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.pymarl3_names import rename
from modules.attention import Block
from modules.seen_entities import SeenEntities
from modules.unshared import linear
from utils.config.merging import with_defaults


class UPDeTAgent(Agent):
    """Tokens of the agent itself, of the entities that it sees and of its memory -> transformer -> outputs and memory.

    One linear layer embeds all tokens, D = `transformer_embed_dim`; a shorter one uses its first columns. After the
    blocks, outputs without a target come from the agent's own token, that of an action with a target is the mean of
    the same outputs of the target's token, and the last token is the next memory (section 3.2).

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=updet", input_shape, args, own_first=True)
        size = args.transformer_embed_dim
        self.token_embedding = nn.Linear(max([seen.own, *seen.features.values()]), size)
        self.blocks = nn.ModuleList(Block(size, args.transformer_heads) for _ in range(args.transformer_depth))
        self.last = nn.Linear(size, size)
        self.q_basic = nn.Linear(size, seen.fixed)
        self.register_load_state_dict_pre_hook(_from_pymarl3)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, D]`."""
        return self.q_basic.weight.new_zeros(1, self.args.transformer_embed_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """The tokens of P agents but that of their memory, `[P, (1 + entities) * D]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        layer = self.token_embedding
        tokens = [
            linear(x, layer.weight[..., : x.shape[-1]], layer.bias) for x in (own.unsqueeze(0), *entities.values())
        ]
        return th.cat(tokens).transpose(0, 1).flatten(1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, D]`; attention makes each memory, so steps follow one another."""
        size = self.args.transformer_embed_dim
        hidden, seen, states = hidden_state.reshape(-1, size), [], []
        for step in encoded.split(sizes):
            tokens = step.unflatten(1, (-1, size)).transpose(0, 1)
            x = th.cat([tokens, hidden[: len(step)].unsqueeze(0)])
            for block in self.blocks:
                x = block(x)
            *now, hidden = self.last(x).split([len(x) - 1, 1])
            hidden = hidden.squeeze(0)
            seen.append(now[0])
            states.append(hidden)
        values = self.q_basic(th.cat(seen, 1))  # [1 + entities, P, fixed]
        fixed, *of_kinds = values.split([1, *self.seen.rows.values()])
        means = dict(zip(self.seen.rows, (x.mean(-1).T for x in of_kinds), strict=True))
        return self.seen.outputs(fixed.squeeze(0), [means[kind] for kind in self.seen.targeted]), th.cat(states)


def _from_pymarl3(network: UPDeTAgent, state: dict[str, th.Tensor], prefix: str, *_others: Any) -> None:
    """Weights by the names that PyMARL3 has for them."""
    names = {"transformer.toprobs.": "last.", "transformer.token_embedding.": "token_embedding."}
    for i in range(len(network.blocks)):
        theirs, ours = f"transformer.tblocks.{i}.", f"blocks.{i}."
        parts = [f"{prefix}{theirs}attention.{name}.weight" for name in ("toqueries", "tokeys", "tovalues")]
        if all(key in state for key in parts):
            state[f"{prefix}{ours}queries_keys_values.weight"] = th.cat([state.pop(key) for key in parts])
        names |= {f"{theirs}{name}": f"{ours}{own}" for name, own in THEIR_LAYERS.items()}
    rename(state, prefix, names)


# of a block
THEIR_LAYERS = {"attention.unifyheads.": "unify.", "ff.0.": "ff1.", "ff.2.": "ff2.", "norm": "norm"}
