"""An agent that sees units, and whose weights do not depend on how many there are."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.entities.layout import Entities, Layout
from modules.entities.options import checked_options
from modules.entities.transformer import Transformer
from modules.seen_entities import required_meaning
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.meanings import ALLY, ENEMY, OWN

OWN_PART, ALLIES, ENEMIES = "obs/own", "obs/allies", "obs/enemies"


class EntityAttentionAgent(Agent):
    """Attention of an agent, its visible allies and its visible enemies to each other.

    Targets are the enemies or, where medivacs heal, the enemies, the allies and the agent itself.

    Each kind of unit has a linear layer, a rectifier and a layer norm, then come the blocks of RogueNet. What the agent
    itself became passes a GRU cell, H = `rnn_hidden_dim`, and gives the outputs of actions without a target; that of an
    attack is the product of a query of the cell with a key of the enemy (0 for one that is not seen), and that of
    healing likewise. So the same weights act on every map.

    The first feature of allies and enemies says whether they are seen. An output more than actions, such as a value,
    is the agent's, too, and comes last.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: inputs depend on the number of units.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        _check(input_shape, args)
        options = {"n_layer": args.n_layer, "n_head": args.n_head, "d_model": args.d_model, "d_qk": args.d_qk}
        self._kinds = [key for key in (OWN_PART, ALLIES, ENEMIES) if key in input_shape]
        self._enemies = input_shape[ENEMIES][0]
        meaning = required_meaning("agent=entity_attention", args)
        healing = meaning.targeting(ALLY, OWN)
        self._fixed, self._more = len(meaning.untargeted), args.n_actions - len(meaning.actions)
        self._targets = self._enemies + len(healing)
        self._targeted = [ENEMIES, ALLIES] if healing else [ENEMIES]
        # all three on every map: also one without allies
        shapes = {key: input_shape.get(key, (0, input_shape[ENEMIES][1] - 1)) for key in (OWN_PART, ALLIES, ENEMIES)}
        self.embeddings = nn.ModuleDict(
            {
                key.removeprefix("obs/"): nn.Sequential(
                    nn.Linear(shape[-1], args.d_model), nn.ReLU(), nn.LayerNorm(args.d_model)
                )
                for key, shape in shapes.items()
            }
        )
        self.transformer = Transformer(checked_options(options), {})
        self.rnn: Any = (nn.GRUCell if args.use_rnn else nn.Linear)(args.d_model, args.rnn_hidden_dim)
        self.fc2 = nn.Linear(args.rnn_hidden_dim, self._fixed + self._more)
        self.query, self.key = nn.Linear(args.rnn_hidden_dim, args.d_qk), nn.Linear(args.d_model, args.d_qk)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc2.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what each itself became and its targets' keys, `[P, d_model + targets * d_qk]`."""
        own, units = inputs.observations[OWN_PART], {key: inputs.observations[key] for key in self._kinds[1:]}
        agents = len(own)
        visible = {key: x[..., 0] > 0 for key, x in units.items()}
        embedded = [self.embeddings["own"](own)]
        embedded += [self.embeddings[key.removeprefix("obs/")](x[visible[key]]) for key, x in units.items()]
        seen = [np.ones(agents, np.int64), *(mask.sum(1).cpu().numpy() for mask in visible.values())]
        entities = Entities.of(np.stack(seen))
        layout = Layout(entities, own.device)
        x = self.transformer(layout.enter(th.cat(embedded)), layout, {})
        everyone = np.arange(agents)
        keys = x.new_zeros(agents * self._targets, self.args.d_qk)
        ends = np.cumsum([counts.sum() for counts in seen])
        for at, kind in zip((0, self._enemies), self._targeted, strict=False):
            place = self._kinds.index(kind)
            part = slice(int(ends[place - 1]), int(ends[place]))
            targets = layout.tokens(entities.frame[part], entities.number[part])
            row, unit = visible[kind].nonzero(as_tuple=True)
            keys = keys.index_copy(0, row * self._targets + at + unit, self.key(x.index_select(0, targets)))
        me = x.index_select(0, layout.tokens(everyone, np.zeros_like(everyone)))
        return th.cat([me, keys.view(agents, -1)], 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`; without the cell, those of its start."""
        me, keys = encoded.split([self.args.d_model, self._targets * self.args.d_qk], 1)
        hidden = hidden_state.reshape(-1, self.args.rnn_hidden_dim)
        if self.args.use_rnn:
            known = hidden = gru_sequence(self.rnn, me.contiguous(), sizes, hidden)
        else:
            known = F.relu(self.rnn(me))
            hidden = th.cat([hidden[:size] for size in sizes])
        fixed, more = self.fc2(known).split([self._fixed, self._more], 1)
        attacks = (keys.view(len(keys), self._targets, -1) @ self.query(known).unsqueeze(2)).squeeze(2)
        return th.cat([fixed, attacks / self.args.d_qk**0.5, more], 1), hidden


def _check(input_shape: Mapping[str, tuple[int, ...]], args: SimpleNamespace) -> None:
    agent = "agent=entity_attention"
    if "others" in input_shape:
        raise ConfigError(
            f"{agent}: last actions and agent ids depend on the number of units; set obs_last_action=False and "
            "obs_agent_id=False."
        )
    for key, wanted, why in (
        ("normalise_observations", False, "it sees by a feature which units are there"),
        ("share_params", True, "agents without weights of their own act on every map"),
    ):
        if vars(args).get(key, wanted) != wanted:
            raise ConfigError(f"{agent}: set {key}={wanted}; {why}.")
    meaning = required_meaning("agent=entity_attention", args)
    order = [*meaning.untargeted, *meaning.targeting(ENEMY), *meaning.targeting(ALLY, OWN)]
    if order != list(range(len(meaning.actions))) or len(meaning.targeting(ENEMY)) != input_shape[ENEMIES][0]:
        raise ConfigError(
            f"{agent}: it needs actions without a target first, and then one for each of the "
            f"{input_shape[ENEMIES][0]} enemies, or of the allies and oneself."
        )
