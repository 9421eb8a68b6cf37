"""An agent that knows what its inputs and actions mean: the value of an attack comes from the enemy that it is for."""

import torch as th
import torch.nn as nn
import torch.nn.functional as F
from modules.layers import row_layer

from modules.agents.agent import Agent


class TargetAgent(Agent):
    """Outputs `[N, A]`: of actions without a target from the memory, of attacks from memory and enemy.

    For observations that are one vector, with `obs` first among the inputs, as it always is.
    """

    def __init__(self, input_shape, args):
        super().__init__()
        enemy = args.meaning.group("enemy")  # kind, features, columns
        self.enemies = th.tensor(enemy.columns)  # [E, F]: where the features of each are in `obs`
        self.fixed, self.attacks = args.meaning.untargeted, args.meaning.targeting("enemy")
        self.size, self.n_actions = args.rnn_hidden_dim, args.n_actions
        self.fc1, self.rnn = nn.Linear(input_shape, self.size), nn.GRUCell(self.size, self.size)
        self.enemy = row_layer(len(enemy.features), args.target_dim)
        self.query, self.fc2 = nn.Linear(self.size, args.target_dim), nn.Linear(self.size, len(self.fixed))

    def init_hidden(self):
        return self.fc1.weight.new_zeros(1, self.size)

    def forward(self, inputs, hidden_state):
        memory = self.rnn(F.relu(self.fc1(inputs)), hidden_state.reshape(-1, self.size))
        keys = self.enemy(inputs[:, self.enemies.to(inputs.device)])  # [N, E, D]
        values = inputs.new_zeros(len(inputs), self.n_actions)
        values[:, self.fixed] = self.fc2(memory)
        values[:, self.attacks] = (keys @ self.query(memory).unsqueeze(2)).squeeze(2)
        return values, memory
