"""Agents that learn what to tell each other: CommNet, TarMAC, IC3Net. Each has a GRU cell as its memory."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import encoded_by
from modules.agents.messages import CommunicatingAgent, Message
from utils.config.merging import with_defaults


class _Recurrent(CommunicatingAgent):
    """Linear -> ReLU, a GRU cell and a linear layer of outputs, between which agents hear each other.

    H = `rnn_hidden_dim`, which is the size of the memory.
    """

    def __init__(self, input_shape: int, args: Any, heard: int = 0):
        super().__init__(args)
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size = args.rnn_hidden_dim
        self.fc1 = nn.Linear(input_shape, size)
        self.rnn = nn.GRUCell(size + heard, size)
        self.fc2 = nn.Linear(size, args.n_actions)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, `[P, H]`."""
        return F.relu(encoded_by(inputs, self.fc1))


class CommNetAgent(_Recurrent):
    """CommNet (Sukhbaatar et al. 2016): agents hear the mean of the others, `comm_rounds` times a step.

    With h the memory after the cell, each round makes of it tanh(H h + C c), c the mean of the others' h (eq. 1, 2),
    by weights of its own. The last one is remembered.
    """

    def __init__(self, input_shape: int, args: Any):
        super().__init__(input_shape, args)
        size, rounds = self.args.rnn_hidden_dim, range(self.args.comm_rounds)
        self.own = nn.ModuleList(nn.Linear(size, size) for _ in rounds)
        self.heard = nn.ModuleList(nn.Linear(size, size, bias=False) for _ in rounds)

    def step(self, encoded: th.Tensor, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        hidden = self.rnn(encoded, hidden)
        for own, heard in zip(self.own, self.heard, strict=True):
            hidden = th.tanh(own(hidden) + heard(self.exchange(Message(hidden))))
        return self.fc2(hidden), hidden


class TarMACAgent(_Recurrent):
    """TarMAC (Das et al. 2019): agents say whom a message is for, by a signature, and listen to what suits them.

    Messages are made of the memories before a step: values v, signatures k, and queries q of receivers, `comm_heads`
    heads of each. What an agent hears, by the softmax of q k / sqrt(K), itself included (eq. 3, 4), enters its cell.
    Of several rounds, each but the last makes h' = tanh(W [c, h]) of what was heard (section 4.2), from which the next
    messages are made. V = `comm_dim` numbers are sent, with K = `comm_key_dim` numbers of a signature.
    """

    def __init__(self, input_shape: int, args: Any):
        super().__init__(input_shape, args, args.comm_dim)
        size, keys = self.args.rnn_hidden_dim, self.args.comm_key_dim * self.args.comm_heads
        self.values = nn.Linear(size, self.args.comm_dim)
        self.keys, self.queries = nn.Linear(size, keys), nn.Linear(size, keys)
        if self.args.comm_rounds > 1:
            self.between = nn.Linear(self.args.comm_dim + size, size)

    def step(self, encoded: th.Tensor, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        state = hidden
        for rest in reversed(range(self.args.comm_rounds)):
            sent = Message(self.values(state), self.keys(state), self.queries(state), heads=self.args.comm_heads)
            heard = self.exchange(sent, own=True)
            if rest:
                state = th.tanh(self.between(th.cat([heard, state], -1)))
        hidden = self.rnn(th.cat([encoded, heard], -1), hidden)
        return self.fc2(hidden), hidden


class IC3NetAgent(_Recurrent):
    """IC3Net (Singh et al. 2019): CommNet with a gate, by which an agent decides whether it speaks.

    The memories before a step are what is said. A gate is 1 where sigmoid(w h) is above 1/2, else 0, and what is heard,
    C c with c the mean of the others' gated memories, is added to the cell's input (eq. 2 to 4).

    The paper learns gates as actions, by REINFORCE. Here the sigmoid's gradient passes through the threshold (Bengio et
    al. 2013), so that every learner takes the network.
    """

    def __init__(self, input_shape: int, args: Any):
        super().__init__(input_shape, args)
        size = self.args.rnn_hidden_dim
        self.gate = nn.Linear(size, 1)
        self.heard = nn.Linear(size, size, bias=False)

    def step(self, encoded: th.Tensor, hidden: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        share = th.sigmoid(self.gate(hidden))
        gates = (share > 0.5).to(share.dtype) + share - share.detach()
        heard = self.exchange(Message(hidden, gates=gates))
        hidden = self.rnn(encoded + self.heard(heard), hidden)
        return self.fc2(hidden), hidden
